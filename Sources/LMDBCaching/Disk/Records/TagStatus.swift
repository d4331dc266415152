/// The database's overall state of removals by tag. A separate record per removed tag holds the removal's stamp, which
/// hides older entries with that tag until upkeep deletes them.
struct TagStatus: Equatable {
  /// The stamp of the last removal, or 0.
  var last: UInt64 = 0
  /// Upkeep has deleted the entries of removals up to this stamp.
  var swept: UInt64 = 0
  /// Removals up to this stamp may be forgotten, so tagged writes that old, if committed late, are rejected.
  var forgotten: UInt64 = 0

  var isSweepDue: Bool { last > swept }

  private static let size = 24
  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "t")]

  init() {}

  /// Reads a record; a malformed one counts as empty.
  init(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.size else { return }
    func load(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let (last, swept, forgotten) = (load(0), load(8), load(16))
    guard last < StampClock.foundLimit, swept <= last, forgotten <= swept else { return }
    (self.last, self.swept, self.forgotten) = (last, swept, forgotten)
  }

  var stored: [UInt8] {
    [last, swept, forgotten].flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  }

  // MARK: The records of single tags: `FF`, `t` and the tag's hash, and a stamp

  static func key(ofTag hash: UInt64) -> [UInt8] { key + withUnsafeBytes(of: hash.bigEndian) { Array($0) } }

  static func tag(ofKey key: UnsafeRawBufferPointer) -> UInt64? {
    guard key.count == 10, key.starts(with: Self.key) else { return nil }
    return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
  }

  static func stamp(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard bytes.count == 8 else { return 0 }
    let stamp = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    return stamp < StampClock.foundLimit ? stamp : 0
  }
}
