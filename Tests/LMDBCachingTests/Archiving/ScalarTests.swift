import CBORCoding
import Foundation
import Testing

@testable import LMDBCaching

/// Every standard type in its own format, and reads as another type.
@Suite struct ScalarTests {
  let directory = CacheDirectory()

  /// Stores values and reads them from both tiers; the comparison treats NaN as equal.
  func check<V: Codable & Sendable>(
    _ values: [V], _ format: ArchiveFormat, by same: (V, V) -> Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let cache = try directory.open()
    for value in values {
      try cache.set(value, forKey: "key")
      let found = try [
        cache.value(V.self, forKey: "key"), cache.withoutMemory.value(V.self, forKey: "key"),
        cache.read { try $0.value(V.self, forKey: "key") },
      ]
      let isSame = found.allSatisfy { $0.map { same($0, value) } ?? false }
      #expect(isSame, "\(value)", sourceLocation: sourceLocation)
      #expect(try cache.entries().first?.format == format, sourceLocation: sourceLocation)
    }
    try cache.close()
  }

  func check<V: Codable & Sendable & Equatable>(
    _ values: [V], _ format: ArchiveFormat, sourceLocation: SourceLocation = #_sourceLocation
  ) throws { try check(values, format, by: ==, sourceLocation: sourceLocation) }

  @Test func integers() throws {
    try check([Int.min, -1, 0, 1, .max], .signedInteger)
    try check([Int8.min, -1, 0, .max], .signedInteger)
    try check([Int32.min, .max], .signedInteger)
    try check([UInt.min, .max], .unsignedInteger)
    try check([UInt8.min, .max], .unsignedInteger)
    try check([UInt64.min, .max], .unsignedInteger)
    try check([true, false], .bool)
  }

  @Test func floatingPoint() throws {
    let doubles: [Double] = [
      0, -0.0, 1.5, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi, .nan,
      Double(bitPattern: 0x7FF8_0000_DEAD_BEEF), -Double.nan,
    ]
    try check(doubles, .double) { $0.bitPattern == $1.bitPattern }
    try check([.nan, -.infinity, 0.1, -0.0] as [Float], .float) { $0.bitPattern == $1.bitPattern }
  }

  @Test func textBytesAndFoundationsValues() throws {
    try check(["", "text", "é", "e\u{301}", "\0", "👩‍👩‍👧‍👦", String(repeating: "x", count: 3_000)], .string) {
      Array($0.utf8) == Array($1.utf8)
    }
    try check([Data(), Data([0]), Data(repeating: 0xFF, count: 3_000), Data([1, 2, 3, 4])[1...2]], .bytes)
    try check(
      [Date(timeIntervalSinceReferenceDate: 0), .distantPast, .distantFuture, Date(timeIntervalSince1970: 0.1)], .date)
    try check([UUID(uuidString: "00000000-0000-0000-0000-000000000000")!, UUID()], .uuid)
    try check([URL(string: "https://example.org/a?b=c#d")!, URL(fileURLWithPath: "/tmp/ä b")], .url)
  }

  @Test func arrays() throws {
    try check([[Int](), [Int.min, 0, .max]], .int64Array)
    try check([[Int8.min, .max]], .int8Array)
    try check([[Int16.min, .max]], .int16Array)
    try check([[Int32.min, .max]], .int32Array)
    try check([[UInt.max, 0]], .uint64Array)
    try check([[UInt8](0...255), [UInt8]()], .uint8Array)
    try check([[UInt16.max]], .uint16Array)
    try check([[UInt32.max]], .uint32Array)
    try check([[Float.infinity, 1.5]], .floatArray)
    try check([[Double.infinity, -0.5], Array(repeating: 1.25, count: 5_000)], .doubleArray)
  }

  /// Reads the value as another type, from both tiers. A failed read keeps the entry.
  private func read<V: Codable & Sendable, T: Codable & Sendable>(
    _ value: V, _ type: T.Type, _ sourceLocation: SourceLocation, _ isRight: (Result<T?, CacheError>) -> Bool
  ) throws {
    let cache = try directory.open()
    try cache.set(value, forKey: "key")
    let found = outcome { () throws(CacheError) -> T? in try cache.value(type, forKey: "key") }
    let onDisk = outcome { () throws(CacheError) -> T? in try cache.withoutMemory.value(type, forKey: "key") }
    #expect(isRight(found) && isRight(onDisk), "\(found), \(onDisk)", sourceLocation: sourceLocation)
    #expect(try cache.value(V.self, forKey: "key") != nil && cache.count == 1, sourceLocation: sourceLocation)
    try cache.close()
  }

  func expect<V: Codable & Sendable, T: Codable & Sendable & Equatable>(
    _ value: V, as expected: T, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try read(value, T.self, sourceLocation) {
      if case .success(let found) = $0 { found == .some(expected) } else { false }
    }
  }

  func expectMismatch<V: Codable & Sendable, T: Codable & Sendable>(
    _ value: V, _ type: T.Type, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try read(value, type, sourceLocation) {
      if case .failure(let error) = $0 { error.code == .typeMismatch } else { false }
    }
  }

  private struct Field<T: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    var number: T
  }

  @Test func numbersAreConvertedWhereThatIsExact() throws {
    func check<V: Codable & Sendable & Equatable, T: Codable & Sendable & Equatable>(_ value: V, _ other: T?) throws {
      if let other { try expect(value, as: other) } else { try expectMismatch(value, T.self) }
      let bytes = try CBOREncoder().encode(Field(number: value))
      #expect((try? CBORDecoder().decode(Field<T>.self, from: bytes))?.number == other)
    }
    try check(300, Int64(300))
    try check(UInt64(7), Int8(7))
    try check(300, UInt8?.none)
    try check(-1, UInt?.none)
    try check(UInt64.max, Int?.none)
    try check(7, 7.0)
    try check(7.0, 7)
    try check(Float(1.5), 1.5)
    try check(1.5, Float(1.5))
    try check(Float(2), UInt8(2))
    try check([1, 2], [1.0, 2])
    try check([1.0, -2], [1, -2])
    try check([UInt8(1)], [Int64(1)])
    try check(7.5, Int?.none)
    try check([7.5], [Int]?.none)
    try check([300], [UInt8]?.none)
    try check(1e300, Int?.none)
    try expect(7, as: Double?.some(7))
  }

  @Test func aURLKeepsItsBase() throws {
    let base = try #require(URL(string: "https://example.org/a/"))
    let url = try #require(URL(string: "b?c=d", relativeTo: base))
    try check([url], .cbor) { $0.relativeString == $1.relativeString && $0.baseURL == $1.baseURL }
    try check([[Field(number: url)]], .cbor) { $0[0].number.baseURL == $1[0].number.baseURL && $0 == $1 }
  }

  @Test func anotherKindOfValueIsAMismatchFromBothTiers() throws {
    try expectMismatch(5, String.self)
    try expectMismatch(Data("text".utf8), String.self)
    try expectMismatch("text", Data.self)
    try expectMismatch(true, Int.self)
    try expectMismatch(1, Bool.self)
    try expectMismatch(UUID(), String.self)
    try expectMismatch(Date(), Double.self)
    try expectMismatch(Data(count: 8), [UInt8].self)
    try expectMismatch(7.5, Date.self)
    try expectMismatch([UInt8](repeating: 1, count: 16), UUID.self)
  }

  @Test func optionalsReadRawValuesAndTheOtherWayRound() throws {
    try expect(5, as: Int?.some(5))
    try expect("text", as: String?.some("text"))
    try expect(Int?.some(5), as: 5)
    try expect(Int?.none, as: Int?.none)
    try expect(Double?.some(.infinity), as: Double.infinity)
    try expectMismatch(Int?.none, Int.self)
    try expectMismatch("text", Int?.self)
  }

  enum Colour: String, Codable { case red, green }
  enum Level: UInt8, Codable { case low = 1, high = 200 }

  @Test func enumerationsReadTheirRawValues() throws {
    try expect("red", as: Colour.red)
    try expect(Colour.green, as: "green")
    try expect(200, as: Level.high)
    try expect(Level.high, as: 200)
    try expect(Level.high, as: UInt8(200))
  }
}
