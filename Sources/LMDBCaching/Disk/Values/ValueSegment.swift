import CXXHash
import Platform

/// A file of the value log. Values are appended to it by the one process that has it locked; what is written is never
/// changed, so that anybody may read what a record refers to, at any time.
///
///     offset  bytes
///          0      8  "LMDBCVS1"
///          8      8  identifier, which is also in the name
///         16      8  the journal that records of its values are written to, or 0: all of them are in the database
///         24      8  XXH3 of the first 16 bytes
///         64      …  the values: see ``ValueEntry``
///
/// A torn entry, of a process that died or of a power cut, is one that its checksums do not agree with; no record that is
/// believed refers to it.
enum ValueSegment {
  static let headerSize = ValuePointer.leastOffset
  private static let names = NumberedName(suffix: ".values")
  private static let magic: UInt64 = 0x3153_5643_4244_4D4C
  private static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }
  private static let ownerOffset = 16

  static func name(_ identifier: UInt64) -> String { names.name(identifier) }

  /// Returns `nil` if the name is none of a segment's.
  static func identifier(ofName name: String) -> UInt64? { names.number(of: name) }

  /// Whether a file that begins so is one of these.
  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  /// Writes the header of a new segment.
  static func writeHeader(_ file: borrowing File, identifier: UInt64, owner: UInt64) throws(SystemError) {
    var header = [UInt8](repeating: 0, count: headerSize)
    header.withUnsafeMutableBytes {
      $0.storeBytes(of: magic.littleEndian, as: UInt64.self)
      $0.storeBytes(of: identifier.littleEndian, toByteOffset: 8, as: UInt64.self)
      $0.storeBytes(of: owner.littleEndian, toByteOffset: ownerOffset, as: UInt64.self)
      $0.storeBytes(of: cxxhash_64($0.baseAddress!, 16, 0).littleEndian, toByteOffset: 24, as: UInt64.self)
    }
    try file.write(header, at: 0)
  }

  /// Says which journal the records of its values are written to from now on. With the segment's lock held.
  static func writeOwner(_ owner: UInt64, _ file: borrowing File) throws(SystemError) {
    try file.write(withUnsafeBytes(of: owner.littleEndian) { Array($0) }, at: ownerOffset)
  }

  /// The journal that records of its values are written to; `nil` if it is not that segment.
  static func owner(_ file: borrowing File, identifier: UInt64) throws(SystemError) -> UInt64? {
    var header = [UInt8](repeating: 0, count: 32)
    guard try file.read(&header) else { return nil }
    return header.withUnsafeBytes { header -> UInt64? in
      func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: header.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      }
      guard word(0) == magic, word(8) == identifier, word(24) == cxxhash_64(header.baseAddress!, 16, 0) else {
        return nil
      }
      return word(ownerOffset)
    }
  }
}
