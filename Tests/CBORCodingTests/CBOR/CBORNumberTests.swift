import Foundation
import Testing

@testable import CBORCoding

/// Numbers decoded as another type than they were encoded as.
@Suite struct CBORNumberTests {
  /// Checks a conversion, with JSON as the reference.
  func check<From: Encodable, To: Decodable & Equatable>(
    _ value: From, as type: To.Type, is expected: To?, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let bytes = try CBOREncoder().encode([value])
    let json = try JSONEncoder().encode([value])
    if let expected {
      #expect(try CBORDecoder().decode([To].self, from: bytes) == [expected], sourceLocation: sourceLocation)
      #expect(try CBORDecoder().decode([WrappedShape2<To>].self, from: bytes)[0].value == expected)
      #expect(try JSONDecoder().decode([To].self, from: json) == [expected], sourceLocation: sourceLocation)
      return
    }
    let error = #expect(throws: DecodingError.self, sourceLocation: sourceLocation) {
      try CBORDecoder().decode([To].self, from: bytes)
    }
    #expect(throws: DecodingError.self, sourceLocation: sourceLocation) {
      try JSONDecoder().decode([To].self, from: json)
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(context.codingPath.map(\.intValue) == [0], sourceLocation: sourceLocation)
    #expect(context.debugDescription.contains("\(To.self)"), sourceLocation: sourceLocation)
  }

  struct WrappedShape2<Value: Decodable>: Decodable {
    let value: Value
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
  }

  @Test func integersAsOtherIntegers() throws {
    try check(300, as: UInt16.self, is: 300)
    try check(300, as: UInt8.self, is: nil)
    try check(-1, as: UInt64.self, is: nil)
    try check(-128, as: Int8.self, is: -128)
    try check(-129, as: Int8.self, is: nil)
    try check(UInt64.max, as: Int64.self, is: nil)
    try check(UInt64.max, as: UInt.self, is: .max)
    try check(Int32.min, as: Int.self, is: Int(Int32.min))
  }

  @Test func integersAsFloatingPointNumbers() throws {
    try check(5, as: Double.self, is: 5)
    try check(-5, as: Float.self, is: -5)
    try check(1 << 53, as: Double.self, is: 0x1p53)
    // JSON rounds to the nearest; here, a silently changed integer would be a wrong value.
    for (value, type) in [((1 << 53) + 1, "Double"), (Int.max, "Double")] {
      let error = #expect(throws: DecodingError.self) {
        try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(value))
      }
      guard case .dataCorrupted(let context) = error else { continue }
      #expect(context.debugDescription.contains(type) && context.debugDescription.contains("\(value)"))
    }
    #expect(throws: DecodingError.self) {
      try CBORDecoder().decode(Float.self, from: CBOREncoder().encode(1 << 24 + 1))
    }
    #expect(try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(Int128(1) << 100)) == 0x1p100)
    #expect(throws: DecodingError.self) {
      try CBORDecoder().decode(Double.self, from: Data([0xC2, 0x51] + Array(repeating: 0xFF, count: 17)))
    }
  }

  @Test func floatingPointNumbersAsIntegers() throws {
    try check(5.0, as: Int.self, is: 5)
    try check(-5.0, as: Int8.self, is: -5)
    try check(5.5, as: Int.self, is: nil)
    try check(300.0, as: UInt8.self, is: nil)
    try check(-1.0, as: UInt.self, is: nil)
    try check(1e300, as: Int.self, is: nil)
    for value in [Double.nan, .infinity] {
      #expect(throws: DecodingError.self) { try CBORDecoder().decode(Int.self, from: CBOREncoder().encode(value)) }
    }
  }

  @Test func doublesAsFloats() throws {
    try check(0.1, as: Float.self, is: 0.1)
    try check(1e300, as: Float.self, is: nil)
    try check(Float(0.5), as: Double.self, is: 0.5)
    #expect(try CBORDecoder().decode(Float.self, from: CBOREncoder().encode(Double.infinity)) == .infinity)
    // The exact float, not the decimal of the source.
    #expect(try CBORDecoder().decode(Double.self, from: CBOREncoder().encode(Float(0.1))) == Double(Float(0.1)))
  }

  @Test func arraysOfNumbersSayWhichOneIsWrong() throws {
    func path<T: Decodable>(_ type: T.Type, _ hex: String) -> [String] {
      do {
        _ = try CBORDecoder().decode(type, from: Data([UInt8](hex: hex)))
        return ["no error"]
      } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context),
        DecodingError.valueNotFound(_, let context)
      {
        return context.codingPath.map(\.stringValue)
      } catch {
        return ["\(error)"]
      }
    }
    #expect(path([Int].self, "83010203") == ["no error"])
    #expect(path([Int].self, "8301026161") == ["Index 2"])
    #expect(path([UInt8].self, "830119010003") == ["Index 1"])
    #expect(path([Double].self, "82f6f6") == ["Index 0"])
    #expect(path([String].self, "82016161") == ["Index 0"])
    #expect(path([Bool].self, "82f401") == ["Index 1"])
    #expect(path([[Int]].self, "828101816161") == ["Index 1", "Index 0"])
    #expect(path([Int].self, "a0") == [])
    #expect(path([Int].self, "f6") == [])
  }
}
