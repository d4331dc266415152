extension CBORReader {
  /// Whether the bytes are UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF (RFC 3629 §4).
  @inline(__always)
  static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    var index = 0
    // Fast path for ASCII.
    while index &+ 8 <= bytes.count {
      if base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { break }
      index &+= 8
    }
    while index < bytes.count {
      if base.load(fromByteOffset: index, as: UInt8.self) >= 0x80 {
        return isUTF8BeyondASCII(UnsafeRawBufferPointer(rebasing: bytes[index...]))
      }
      index &+= 1
    }
    return true
  }

  /// As fast as the standard library's `UTF8Span`, which requires macOS 26.
  private static func isUTF8BeyondASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    let count = bytes.count
    var index = 0
    while index < count {
      let first = base.load(fromByteOffset: index, as: UInt8.self)
      if first < 0x80 {
        index &+= 1
        while index &+ 8 <= count,
          base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        { index &+= 8 }
        continue
      }
      /// 0 past the end, which continues no sequence.
      @inline(__always)
      func byte(_ offset: Int) -> UInt8 {
        index &+ offset < count ? base.load(fromByteOffset: index &+ offset, as: UInt8.self) : 0
      }
      let second = byte(1)
      if first < 0xE0 {
        guard first >= 0xC2, second & 0xC0 == 0x80 else { return false }
        index &+= 2
      } else if first < 0xF0 {
        let least: UInt8 = first == 0xE0 ? 0xA0 : 0x80
        let greatest: UInt8 = first == 0xED ? 0x9F : 0xBF
        guard second >= least, second <= greatest, byte(2) & 0xC0 == 0x80 else { return false }
        index &+= 3
      } else {
        let least: UInt8 = first == 0xF0 ? 0x90 : 0x80
        let greatest: UInt8 = first == 0xF4 ? 0x8F : 0xBF
        guard first <= 0xF4, second >= least, second <= greatest, byte(2) & 0xC0 == 0x80, byte(3) & 0xC0 == 0x80
        else { return false }
        index &+= 4
      }
    }
    return true
  }
}
