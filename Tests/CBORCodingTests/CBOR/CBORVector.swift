import Testing

/// An example of RFC 8949, appendix A.
struct CBORVector: CustomTestStringConvertible, Sendable {
  let hex: String
  let diagnostic: String
  /// Whether this is the value's deterministic encoding.
  let isDeterministic: Bool

  init(_ hex: String, _ diagnostic: String, deterministic: Bool = true) {
    self.hex = hex
    self.diagnostic = diagnostic
    isDeterministic = deterministic
  }

  var bytes: [UInt8] { [UInt8](hex: hex) }
  var testDescription: String { hex }

  static let all: [CBORVector] = numbers + simpleValuesAndTags + strings + containers + longer

  private static let numbers: [CBORVector] = [
    .init("00", "0"), .init("01", "1"), .init("0a", "10"), .init("17", "23"), .init("1818", "24"), .init("1819", "25"),
    .init("1864", "100"), .init("1903e8", "1000"), .init("1a000f4240", "1000000"),
    .init("1b000000e8d4a51000", "1000000000000"), .init("1bffffffffffffffff", "18446744073709551615"),
    .init("c249010000000000000000", "18446744073709551616"), .init("3bffffffffffffffff", "-18446744073709551616"),
    .init("c349010000000000000000", "-18446744073709551617"), .init("20", "-1"), .init("29", "-10"),
    .init("3863", "-100"), .init("3903e7", "-1000"), .init("f90000", "0.0"), .init("f98000", "-0.0"),
    .init("f93c00", "1.0"), .init("fb3ff199999999999a", "1.1"), .init("f93e00", "1.5"), .init("f97bff", "65504.0"),
    .init("fa47c35000", "100000.0"), .init("fa7f7fffff", "3.4028234663852886e+38"),
    .init("fb7e37e43c8800759c", "1e+300"), .init("f90001", "5.960464477539063e-08"),
    .init("f90400", "6.103515625e-05"), .init("f9c400", "-4.0"), .init("fbc010666666666666", "-4.1"),
    .init("f97c00", "Infinity"), .init("f97e00", "NaN"), .init("f9fc00", "-Infinity"),
  ]

  private static let simpleValuesAndTags: [CBORVector] = [
    .init("f4", "false"), .init("f5", "true"), .init("f6", "null"), .init("f7", "undefined"),
    .init("f0", "simple(16)"), .init("f8ff", "simple(255)"),
    .init("c074323031332d30332d32315432303a30343a30305a", #"0("2013-03-21T20:04:00Z")"#),
    .init("c11a514b67b0", "1(1363896240)"), .init("c1fb41d452d9ec200000", "1(1363896240.5)"),
    .init("d74401020304", "23(h'01020304')"), .init("d818456449455446", "24(h'6449455446')"),
    .init("d82076687474703a2f2f7777772e6578616d706c652e636f6d", #"32("http://www.example.com")"#),
  ]

  private static let strings: [CBORVector] = [
    .init("40", "h''"), .init("4401020304", "h'01020304'"), .init("60", #""""#), .init("6161", #""a""#),
    .init("6449455446", #""IETF""#), .init("62225c", #""\"\\""#), .init("62c3bc", #""ü""#), .init("63e6b0b4", #""水""#),
    .init("64f0908591", #""𐅑""#),
  ]

  private static let containers: [CBORVector] = [
    .init("80", "[]"), .init("83010203", "[1, 2, 3]"), .init("8301820203820405", "[1, [2, 3], [4, 5]]"),
    .init("98190102030405060708090a0b0c0d0e0f101112131415161718181819", oneToTwentyFive), .init("a0", "{}"),
    .init("a201020304", "{1: 2, 3: 4}"), .init("a26161016162820203", #"{"a": 1, "b": [2, 3]}"#),
    .init("826161a161626163", #"["a", {"b": "c"}]"#),
    .init(
      "a56161614161626142616361436164614461656145", #"{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}"#),
  ]

  /// Not the shortest form.
  private static let longer: [CBORVector] = [
    CBORVector("fa7f800000", "Infinity"), CBORVector("fa7fc00000", "NaN"), CBORVector("faff800000", "-Infinity"),
    CBORVector("fb7ff0000000000000", "Infinity"), CBORVector("fb7ff8000000000000", "NaN"),
    CBORVector("fbfff0000000000000", "-Infinity"), CBORVector("5f42010243030405ff", "(_ h'0102', h'030405')"),
    CBORVector("7f657374726561646d696e67ff", #"(_ "strea", "ming")"#), CBORVector("9fff", "[_ ]"),
    CBORVector("9f018202039f0405ffff", "[_ 1, [2, 3], [_ 4, 5]]"),
    CBORVector("9f01820203820405ff", "[_ 1, [2, 3], [4, 5]]"),
    CBORVector("83018202039f0405ff", "[1, [2, 3], [_ 4, 5]]"),
    CBORVector("83019f0203ff820405", "[1, [_ 2, 3], [4, 5]]"),
    CBORVector("9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", "[_ " + oneToTwentyFive.dropFirst()),
    CBORVector("bf61610161629f0203ffff", #"{_ "a": 1, "b": [_ 2, 3]}"#),
    CBORVector("826161bf61626163ff", #"["a", {_ "b": "c"}]"#),
    CBORVector("bf6346756ef563416d7421ff", #"{_ "Fun": true, "Amt": -2}"#),
  ].map { CBORVector($0.hex, $0.diagnostic, deterministic: false) }

  private static let oneToTwentyFive = "[" + (1...25).map(String.init).joined(separator: ", ") + "]"

  /// Inputs that are not well-formed, by the reasons of RFC 8949, appendix F.
  static let malformed: [String] = [
    // The end is missing.
    "", "18", "19", "1a", "1b", "1901", "1a0102", "1b01020304050607", "38", "58", "78", "98", "9a01ff00", "b8", "d8",
    "f8", "f900", "fa0000", "fb000000", "41", "61", "5affffffff00", "5bffffffffffffffff010203",
    "7affffffff00", "7b7fffffffffffffff010203", "81", "818181818181818181", "8200", "a1", "a20102", "a100",
    "a2000000", "c0", "9f", "9f0102", "bf", "bf01020102", "819f", "9f8000", "9f9f9f9f9fffffffff", "9f819f819f9fffffff",
    "9b8000000000000000", "bb4000000000000000", "5f4100", "7f6100", "5f", "7f",
    // Reserved.
    "1c", "1d", "1e", "3c", "3d", "3e", "5c", "5d", "5e", "7c", "7d", "7e", "9c", "9d", "9e", "bc", "bd", "be", "dc",
    "dd", "de", "fc", "fd", "fe", "1f", "3f", "df00", "df", "f800", "f818", "f81f",
    // Chunks of another type.
    "5f00ff", "5f21ff", "5f6100ff", "5f80ff", "5fa0ff", "5fc000ff", "5fe0ff", "7f4100ff", "5f5f4100ffff",
    "7f7f6100ffff",
    // Breaks where none belongs.
    "ff", "81ff", "8200ff", "a1ff", "a1ff00", "a100ff", "a20000ff", "9f81ff", "9f829f819f9fffffffff", "bf00ff",
    "bf000000ff", "c1ff", "9fc1ff", "bfc1ff",
    // No UTF-8.
    "61ff", "61c3", "62c080", "63eda080", "64f4908080", "7f61c361bcff", "6aff6161616161616161ff",
  ]
}
