/// Numbers of tags, as registered with IANA.
enum CBORTag {
  /// Text that is a date and a time in the form of RFC 3339 (RFC 8949 §3.4.1).
  static let dateTime: UInt64 = 0
  /// Seconds since 1970-01-01 00:00 UTC, an integer or a floating-point number (RFC 8949 §3.4.2).
  static let epochTime: UInt64 = 1
  /// A byte string that is an unsigned integer, most significant byte first (RFC 8949 §3.4.3).
  static let unsignedBignum: UInt64 = 2
  /// A byte string that is the integer -1 - n (RFC 8949 §3.4.3).
  static let negativeBignum: UInt64 = 3
  /// An array of an exponent to the base 10 and a mantissa (RFC 8949 §3.4.4).
  static let decimalFraction: UInt64 = 4
  /// Text that is a URI (RFC 8949 §3.4.5.3).
  static let uri: UInt64 = 32
  /// A byte string that is a UUID (RFC 9562), most significant byte first.
  static let uuid: UInt64 = 37
  /// A map that is a point in time (RFC 9581 §3).
  static let extendedTime: UInt64 = 1001
}
