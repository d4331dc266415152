/// MMKV's `.crc` file. Numbers are little-endian, with 32 bits.
///
///     offset  bytes
///          0      4  CRC-32 of the contents
///          4      4  version: 1 and later have the following fields, up to 2 without and 3 with the length
///          8      4  the number of full rewrites
///         12     16  the initialization vector of an encrypted file
///         28      4  the length of the contents
///         32      8  length and CRC-32 at the last full rewrite
///         40     64  unused
///        104      8  flags, since version 4: 1 – each value ends with its expiry time
struct MMKVMetadata: Equatable {
  private static let size = 112
  /// Known versions. For later ones MMKV itself trusts only the length.
  private static let versionWithLength: UInt32 = 3
  private static let versionWithFlags: UInt32 = 4

  let checksum: UInt32
  /// The length of the contents; `nil` if stored in the file itself.
  let length: Int?
  let isEncryptedOnce: Bool
  let lastLength: Int?
  let lastChecksum: UInt32
  let hasExpiries: Bool

  /// Missing bytes are 0, as MMKV finds them after extending the file.
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
