/// The keys written while the journal could take no more, with the stamps of those writes; bounded.
///
/// What is on the disk under them, or waits in the journal, is older, and must not be served any more.
struct UnrecordedKeys {
  static let maximum = 65_536
  private(set) var stamps: [[UInt8]: UInt64] = [:]
  /// Whatever is older than this is stale, under every key.
  private(set) var everything: UInt64 = 0

  var isEmpty: Bool { stamps.isEmpty && everything == 0 }

  mutating func insert(_ key: UnsafeRawBufferPointer, stamp: UInt64) {
    stamps[Array(key)] = stamp
    if stamps.count > Self.maximum { insertEverything(stamp: stamp) }
  }

  mutating func insertEverything(stamp: UInt64) {
    stamps = [:]
    everything = stamp
  }

  mutating func formUnion(_ other: UnrecordedKeys) {
    stamps.merge(other.stamps) { max($0, $1) }
    everything = max(everything, other.everything)
  }

  /// The stamp before which what is under `key` is stale; 0: it is not.
  func stamp(of key: UnsafeRawBufferPointer) -> UInt64 { max(everything, stamps[Array(key)] ?? 0) }

  /// Forgets what is removed from the disk now.
  mutating func subtract(_ removed: UnrecordedKeys) {
    for (key, stamp) in removed.stamps where stamps[key] == stamp { stamps[key] = nil }
    if everything == removed.everything { everything = 0 }
  }
}
