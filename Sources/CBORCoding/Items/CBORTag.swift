/// Tag numbers registered with IANA.
enum CBORTag {
  /// A date and time as RFC 3339 text (RFC 8949 §3.4.1).
  static let dateTime: UInt64 = 0
  /// Seconds since 1970-01-01 00:00 UTC, integer or floating-point (RFC 8949 §3.4.2).
  static let epochTime: UInt64 = 1
  /// An unsigned integer as a big-endian byte string (RFC 8949 §3.4.3).
  static let unsignedBignum: UInt64 = 2
  /// The integer -1 - n, with n as a byte string (RFC 8949 §3.4.3).
  static let negativeBignum: UInt64 = 3
  /// An array of a base 10 exponent and a mantissa (RFC 8949 §3.4.4).
  static let decimalFraction: UInt64 = 4
  /// A URI as text (RFC 8949 §3.4.5.3).
  static let uri: UInt64 = 32
  /// A UUID as a big-endian byte string (RFC 9562).
  static let uuid: UInt64 = 37
  /// A point in time as a map (RFC 9581 §3).
  static let extendedTime: UInt64 = 1001
}
