import Foundation
import Testing

@testable import CBORCoding

/// Numbers decoded as another type than they were encoded as.
@Suite struct CBORNumberTests {
  /// Checks a conversion, with JSON as the reference. For a number out of range, JSON's error has no path.
  private func check<From: Encodable, To: Decodable & Equatable & SendableMetatype>(
    _ value: From, as type: To.Type, is expected: To?, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let (bytes, json) = (try CBOREncoder().encode([value]), try JSONEncoder().encode([value]))
    #expect((try? JSONDecoder().decode([To].self, from: json)) == expected.map { [$0] }, sourceLocation: sourceLocation)
    #expect(refuses(bytes, as: type) == (expected == nil), sourceLocation: sourceLocation)
    if let expected {
      #expect(try CBORDecoder().decode([To].self, from: bytes) == [expected], sourceLocation: sourceLocation)
    }
  }

  /// Whether the first element of an array is refused with its path and type.
  private func refuses<To: Decodable>(_ bytes: Data, as type: To.Type) -> Bool {
    CBORErrorTests.summary { try CBORDecoder().decode([To].self, from: bytes) } == "dataCorrupted at Index 0/0"
  }

  @Test func conversions() throws {
    try check(UInt64.max, as: Int64.self, is: nil)
    try check(UInt64.max, as: UInt.self, is: .max)
    try check(Int32.min, as: Int.self, is: Int(Int32.min))
    try check(5, as: Double.self, is: 5)
    try check(-5, as: Float.self, is: -5)
    try check(1 << 53, as: Double.self, is: 0x1p53)
    try check(5.0, as: Int.self, is: 5)
    try check(-5.0, as: Int8.self, is: -5)
    try check(5.5, as: Int.self, is: nil)
    try check(300.0, as: UInt8.self, is: nil)
    try check(-1.0, as: UInt.self, is: nil)
    try check(1e300, as: Int.self, is: nil)
    try check(256, as: UInt8.self, is: nil)
    try check(-1, as: UInt64.self, is: nil)
    try check(-129, as: Int8.self, is: nil)
    try check(0.1, as: Float.self, is: 0.1)
    try check(1e300, as: Float.self, is: nil)
    try check(Float(0.5), as: Double.self, is: 0.5)
    // JSON rounds to the nearest; here, a silently changed integer would be a wrong value.
    for value in [(1 << 53) + 1, Int.max] { #expect(try refuses(CBOREncoder().encode([value]), as: Double.self)) }
    #expect(try refuses(CBOREncoder().encode([1 << 24 + 1]), as: Float.self))
    for value in [Double.nan, .infinity] { #expect(try refuses(CBOREncoder().encode([value]), as: Int.self)) }
    #expect(try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(Int128(1) << 100)) == 0x1p100)
    #expect(try CBORDecoder().decode(Float.self, from: CBOREncoder().encode(Double.infinity)) == .infinity)
    // The exact float, not the decimal of the source.
    #expect(try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(Float(0.1))) == Double(Float(0.1)))
  }
}
