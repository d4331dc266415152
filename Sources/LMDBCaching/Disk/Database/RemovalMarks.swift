/// Marks of removals of many entries. Comparing two states shows the removals in between, even for missing keys.
struct RemovalMarks {
  /// The stamp of the last removal of all entries (``CacheMetadata/clearStamp``).
  let clear: UInt64
  let tag: TagStatus
  let prefixes: PrefixRemovals
}

/// The latest removals by prefix, stored as a mark of eight bytes, up to which removals are forgotten, then for each
/// removal its mark, the prefix's length in one byte, and the prefix.
struct PrefixRemovals {
  private struct Removal {
    /// Increases with each transaction that removes by prefix.
    let mark: UInt64
    /// A long prefix is truncated, and so covers more keys.
    let prefix: [UInt8]
  }

  /// Forgotten removals count for every load that began before them.
  private static let maximumCount = 32
  private static let maximumLength = 48

  private var forgotten: UInt64 = 0
  private var removals: [Removal] = []

  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "p")]

  init() {}

  /// Reads a record; a malformed one counts as empty.
  init(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    func takeMark() -> UInt64? {
      guard rest.count >= 8 else { return nil }
      let mark = UInt64(littleEndian: UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: UInt64.self))
      rest = rest.dropFirst(8)
      return mark < StampClock.foundLimit ? mark : nil
    }
    guard let forgotten = takeMark() else { return }
    var removals: [Removal] = []
    while !rest.isEmpty {
      guard let mark = takeMark(), mark >= removals.last?.mark ?? forgotten,
        let length = rest.popFirst(), length <= rest.count
      else { return }
      removals.append(Removal(mark: mark, prefix: Array(rest.prefix(Int(length)))))
      rest = rest.dropFirst(Int(length))
    }
    (self.forgotten, self.removals) = (forgotten, removals)
  }

  var stored: [UInt8] {
    func bytes(_ mark: UInt64) -> [UInt8] { withUnsafeBytes(of: mark.littleEndian) { Array($0) } }
    return removals.reduce(into: bytes(forgotten)) { $0 += bytes($1.mark) + [UInt8($1.prefix.count)] + $1.prefix }
  }

  var last: UInt64 { removals.last?.mark ?? forgotten }

  /// Notes the removals of one transaction.
  ///
  /// - Parameter stamp: The greatest stamp committed with them, unless an older one is committed late.
  mutating func note(_ prefixes: [[UInt8]], stamp: UInt64) {
    let mark = max(stamp, last + 1)
    for prefix in prefixes.map({ Array($0.prefix(Self.maximumLength)) }) {
      removals.removeAll { $0.prefix.starts(with: prefix) }
      removals.append(Removal(mark: mark, prefix: prefix))
    }
    while removals.count > Self.maximumCount { forgotten = removals.removeFirst().mark }
  }

  /// Whether the key may have been removed after a mark.
  func includes(_ key: UnsafeRawBufferPointer, since mark: UInt64) -> Bool {
    mark < forgotten || removals.contains { $0.mark > mark && key.starts(with: $0.prefix) }
  }
}
