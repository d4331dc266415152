/// What the database knows of removals by tag as a whole, in a record of its own. Each tag that was removed has another one:
/// the stamp of its removal. An entry that has the tag and was written before is gone; upkeep removes it some time.
struct TagStatus: Equatable {
  /// The stamp of the last removal, or 0 if there was none.
  var last: UInt64 = 0
  /// Upkeep has removed what removals up to this stamp are of.
  var swept: UInt64 = 0
  /// Removals up to this stamp may be forgotten. Writes of tagged entries that are as old, and that their process has
  /// held back since, are not believed any more.
  var forgotten: UInt64 = 0

  var isSweepDue: Bool { last > swept }

  private static let size = 24
  /// `FF` and `t`.
  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "t")]

  init() {}

  /// Reads a record; one that no cache can have written counts as none.
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

  /// Returns `nil` if the key is not a tag's.
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
