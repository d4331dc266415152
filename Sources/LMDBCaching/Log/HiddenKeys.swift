/// The keys written while the journal was full, with the stamps of those writes.
///
/// The values are in the memory tier. Older values on disk or in the journal must not be served; the next commit
/// removes them. Bounded by ``maximumKeys``.
struct HiddenKeys {
  static let maximumKeys = 65_536
  static let maximumPrefixes = 1_024

  enum Scope {
    case key(UnsafeRawBufferPointer)
    case prefix(UnsafeRawBufferPointer)
    case tag(UInt64)
    case everything

    /// Whether the scope certainly includes the key; never known for a tag.
    func includes(_ key: String) -> Bool {
      switch self {
      case .key(let other): key.utf8.elementsEqual(other)
      case .prefix(let prefix): key.utf8.starts(with: prefix)
      case .tag: false
      case .everything: true
      }
    }
  }

  struct Prefix: Equatable {
    let bytes: [UInt8]
    var stamp: UInt64
  }

  private(set) var stamps: [[UInt8]: UInt64] = [:]
  private(set) var prefixes: [Prefix] = []
  /// The stamps by tag hash. ``stamp(of:)`` ignores them.
  private(set) var tags: [UInt64: UInt64] = [:]
  /// Everything older than this stamp is hidden, under every key.
  private(set) var everything: UInt64 = 0

  var isEmpty: Bool { stamps.isEmpty && prefixes.isEmpty && tags.isEmpty && everything == 0 }

  /// Whether there is room. If not, the write must fail: hiding more than its keys would lose entries.
  func canInsert(_ scope: Scope) -> Bool {
    switch scope {
    case .key(let key): stamps.count < Self.maximumKeys || stamps[Array(key)] != nil
    case .prefix(let prefix):
      prefixes.count < Self.maximumPrefixes || prefixes.contains { $0.bytes.elementsEqual(prefix) }
    case .tag(let hash): tags.count < Self.maximumKeys || tags[hash] != nil
    case .everything: true
    }
  }

  mutating func insert(_ scope: Scope, stamp: UInt64) {
    switch scope {
    case .key(let key):
      stamps[Array(key)] = stamp
    case .prefix(let prefix):
      if let index = prefixes.firstIndex(where: { $0.bytes.elementsEqual(prefix) }) {
        prefixes[index].stamp = stamp
      } else {
        prefixes.append(Prefix(bytes: Array(prefix), stamp: stamp))
      }
    case .tag(let hash): tags[hash] = stamp
    case .everything: insertEverything(stamp: stamp)
    }
  }

  private mutating func insertEverything(stamp: UInt64) {
    stamps = [:]
    prefixes = []
    tags = [:]
    everything = stamp
  }

  mutating func formUnion(_ other: HiddenKeys) {
    stamps.merge(other.stamps) { max($0, $1) }
    for prefix in other.prefixes {
      if let index = prefixes.firstIndex(where: { $0.bytes == prefix.bytes }) {
        prefixes[index].stamp = max(prefixes[index].stamp, prefix.stamp)
      } else {
        prefixes.append(prefix)
      }
    }
    tags.merge(other.tags) { max($0, $1) }
    everything = max(everything, other.everything)
  }

  /// The stamp before which values under `key` are hidden, or 0.
  func stamp(of key: UnsafeRawBufferPointer) -> UInt64 {
    var stamp = max(everything, stamps[Array(key)] ?? 0)
    for prefix in prefixes where prefix.stamp > stamp && key.starts(with: prefix.bytes) { stamp = prefix.stamp }
    return stamp
  }

  func hides(_ header: RecordHeader, under key: UnsafeRawBufferPointer) -> Bool {
    if stamp(of: key) > header.stamp { return true }
    guard !tags.isEmpty, let own = header.tags else { return false }
    return own.contains { tags[$0] ?? 0 > header.stamp }
  }

  /// Removes what the disk no longer holds.
  mutating func subtract(_ removed: HiddenKeys) {
    for (key, stamp) in removed.stamps where stamps[key] == stamp { stamps[key] = nil }
    prefixes.removeAll { removed.prefixes.contains($0) }
    for (tag, stamp) in removed.tags where tags[tag] == stamp { tags[tag] = nil }
    if everything == removed.everything { everything = 0 }
  }
}
