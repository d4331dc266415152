/// The file beside one of MMKV, which ends in `.crc`. Numbers are little-endian, of 32 bits.
///
///     offset  bytes
///          0      4  CRC-32 of the contents
///          4      4  version: 1 and later have what follows, up to 2 without and 3 with the length
///          8      4  how often all was written anew
///         12     16  what an encrypted file begins its encryption with
///         28      4  the length of the contents
///         32      8  length and CRC-32 as of the last time that all was written
///         40     64  nothing
///        104      8  flags, since version 4: 1 – each value ends with the time at which it expires
struct MMKVMetadata: Equatable {
  private static let size = 112
  /// Versions that are known; of a greater one MMKV itself believes the length and nothing more.
  private static let versionWithLength: UInt32 = 3
  private static let versionWithFlags: UInt32 = 4

  let checksum: UInt32
  /// The length of the contents; `nil`: it is in the file itself.
  let length: Int?
  let isEncryptedOnce: Bool
  let lastLength: Int?
  let lastChecksum: UInt32
  let hasExpiries: Bool

  /// What is not there is 0, as MMKV finds it in a file that it has made longer.
  init(_ bytes: [UInt8]) {
    let bytes = bytes.prefix(Self.size) + [UInt8](repeating: 0, count: max(0, Self.size - bytes.count))
    func word(_ offset: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
    let version = word(4)
    checksum = word(0)
    isEncryptedOnce = version >= 2 && bytes[12..<28].contains { $0 != 0 }
    length = version >= Self.versionWithLength ? Int(word(28)) : nil
    lastLength = version >= Self.versionWithLength ? Int(word(32)) : nil
    lastChecksum = word(36)
    hasExpiries = version == Self.versionWithFlags && word(104) & 1 != 0
  }
}
