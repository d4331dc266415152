import Foundation
import TestSupport

/// Makes the files of a PINDiskCache.
enum PINCacheWriter {
  /// The name of the file of a key: these four, and what is not ASCII, are percent-encoded.
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

  /// Gives a file the limit of its age that PINCache writes: a floating-point number as it lies in memory. Returns `false`
  /// where the file system has no such attributes.
  static func setAgeLimit(_ seconds: Double, of path: String) -> Bool {
    withUnsafeBytes(of: seconds.bitPattern.littleEndian) {
      FileAttribute.set("com.pinterest.PINDiskCache.ageLimit", to: Array($0), of: path)
    }
  }
}
