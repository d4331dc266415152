/// The keys written while the journal could take no more, with the stamps of those writes.
///
/// The values are with the memory tier that wrote them. What is on the disk under these keys, or waits in the journal, is
/// older and must not be served any more; the next commit removes it. Bounded: see ``maximumKeys``.
struct HiddenKeys {
  /// More keys than this are refused: see ``canInsert(_:)``.
  static let maximumKeys = 65_536
  /// More prefixes than this are refused.
  static let maximumPrefixes = 1_024

  /// What one write hides.
  enum Scope {
    case key(UnsafeRawBufferPointer)
    case prefix(UnsafeRawBufferPointer)
    /// By its hash.
    case tag(UInt64)
    case everything

    /// Whether it is known to be about the key: of a tag it is not.
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
  /// The tags of what is hidden, by their hashes. Not of a key: see ``stamp(of:)``.
  private(set) var tags: [UInt64: UInt64] = [:]
  /// Whatever is older than this is hidden, under every key.
  private(set) var everything: UInt64 = 0

  var isEmpty: Bool { stamps.isEmpty && prefixes.isEmpty && tags.isEmpty && everything == 0 }

  /// Whether there is room. Without it the write has to fail: hiding more than it is about would lose entries.
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

  /// The stamp before which what is under `key` is hidden, or 0 if it is not.
  func stamp(of key: UnsafeRawBufferPointer) -> UInt64 {
    var stamp = max(everything, stamps[Array(key)] ?? 0)
    for prefix in prefixes where prefix.stamp > stamp && key.starts(with: prefix.bytes) { stamp = prefix.stamp }
    return stamp
  }

  /// Whether a record is hidden.
  func hides(_ header: RecordHeader, under key: UnsafeRawBufferPointer) -> Bool {
    if stamp(of: key) > header.stamp { return true }
    guard !tags.isEmpty, let own = header.tags else { return false }
    return own.contains { tags[$0] ?? 0 > header.stamp }
  }

  /// Forgets what is removed from the disk now.
  mutating func subtract(_ removed: HiddenKeys) {
    for (key, stamp) in removed.stamps where stamps[key] == stamp { stamps[key] = nil }
    prefixes.removeAll { removed.prefixes.contains($0) }
    for (tag, stamp) in removed.tags where tags[tag] == stamp { tags[tag] = nil }
    if everything == removed.everything { everything = 0 }
  }
}
