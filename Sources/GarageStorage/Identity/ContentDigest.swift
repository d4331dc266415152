/// Identifies content without an identifier, the same in every process.
enum ContentDigest {
  static func text(of content: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: SHA256.digest(of: content).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension ContentDigest {
  static func isText(_ text: String) -> Bool {
    let digits = Array("0123456789abcdef".utf8)
    return text.utf8.count == 64 && text.utf8.allSatisfy { digits.contains($0) }
  }

  /// The digest's first eight bytes, as a checksum.
  static func word(of bytes: [UInt8]) -> UInt64 {
    SHA256.digest(of: bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
