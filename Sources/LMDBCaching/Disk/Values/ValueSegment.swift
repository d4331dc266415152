import CXXHash
import Platform

/// A file of the value log. One process locks it and appends values, which never change, so any process may read a
/// referenced value at any time.
///
///     offset  bytes
///          0      8  "LMDBCVS1"
///          8      8  identifier, as in the name
///         16      8  the journal of its values' records, or 0 once all are in the database
///         24      8  XXH3 of the first 16 bytes
///         64      …  the values (``ValueEntry``)
///
/// A crash or a power cut may leave a torn entry, whose checksums do not match; no valid record refers to it.
enum ValueSegment {
  static let headerSize = ValuePointer.leastOffset
  private static let names = NumberedName(suffix: ".values")
  private static let magic: UInt64 = 0x3153_5643_4244_4D4C
  private static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }
  private static let ownerOffset = 16

  static func name(_ identifier: UInt64) -> String { names.name(identifier) }

  static func identifier(ofName name: String) -> UInt64? { names.number(of: name) }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

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

  /// Sets the journal of its values' records. Requires the segment's lock.
  static func writeOwner(_ owner: UInt64, _ file: borrowing File) throws(SystemError) {
    try file.write(withUnsafeBytes(of: owner.littleEndian) { Array($0) }, at: ownerOffset)
  }

  /// The journal of its values' records; `nil` for another kind of file.
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
