import Foundation
import TestSupport

enum PINCacheWriter {
  /// A key's file name: these four characters and non-ASCII ones are percent-encoded.
  static func name(_ key: String) -> String {
    key.utf8.map { byte in
      let isEncoded = byte > 0x7E || byte < 0x20 || ".:/%".utf8.contains(byte)
      return isEncoded
        ? "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        : String(UnicodeScalar(byte))
    }.joined()
  }

  @discardableResult
  static func add(_ key: String, _ value: Data, modified: Date? = nil, to place: Place) throws -> String {
    try place.write(value, to: "store/" + name(key), modified: modified)
  }

  /// Sets PINCache's age limit attribute, a floating-point number in memory order. Returns `false` if the file system
  /// supports no attributes.
  static func setAgeLimit(_ seconds: Double, of path: String) -> Bool {
    withUnsafeBytes(of: seconds.bitPattern.littleEndian) {
      FileAttribute.set("com.pinterest.PINDiskCache.ageLimit", to: Array($0), of: path)
    }
  }
}
