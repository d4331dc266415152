import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// One value, one sequence of bytes (RFC 8949 §4.2.1).
@Suite struct CBORDeterminismTests {
  private enum Color: String, Codable, CaseIterable { case red, green, blue, white, black }

  private struct Point: Codable, Hashable {
    var x: Int
    var name: String?
  }

  private struct Unordered: Codable, Equatable {
    var colors: [Color: Int] = [:]
    var points: [Point: Set<Date>] = [:]
    var sets: Set<Set<String>> = []
    var optional: [Double: Set<Int>?]? = [:]

    init(_ order: [Int], capacity: Int) {
      points.reserveCapacity(capacity)
      sets.reserveCapacity(capacity)
      for number in order {
        colors[Color.allCases[number % 5]] = number % 5
        let date = Date(timeIntervalSinceReferenceDate: Double(number) / 3)
        points[Point(x: number, name: number % 2 == 0 ? nil : "\(number)")] = [date, date + 1, date + 2]
        sets.insert(["a", "b\(number)", "c"])
        optional?.updateValue([1, number + 2, number + 3], forKey: Double(number))
      }
    }
  }

  @Test func equalSetsAndDictionariesHaveEqualBytes() throws {
    var random = SeededRandom(8)
    let order = Array(0..<40)
    let expected = Unordered(order, capacity: 0)
    var encodings: Set<Data> = []
    for _ in 0..<10 {
      let value = Unordered(order.shuffled(using: &random), capacity: random.below(2_000))
      let bytes = try CBOREncoder().encode(value)
      #expect(value == expected)
      #expect(try CBORDecoder().decode(Unordered.self, from: bytes) == expected)
      encodings.formUnion([bytes, Data(try CBORItem(Array(bytes)).encoded)])
    }
    #expect(encodings.count == 1)
    #expect(
      try CBORDiagnostic(Array(CBOREncoder().encode([Color.red: 1, .blue: 2, .green: 3, .white: 4])).span.bytes).text
        == #"["red", 1, "blue", 2, "green", 3, "white", 4]"#)
  }

  #if !canImport(Darwin)
    /// Elements and keys are objects, one of which refers back to the set.
    @Test func equalSetsOfObjectsHaveEqualBytes() throws {
      var random = SeededRandom(9)
      var archives: Set<Data> = []
      for _ in 0..<10 {
        let (set, dictionary) = (NSMutableSet(), NSMutableDictionary())
        set.add(Box(NSArray(array: [set])))
        for number in (0..<30).shuffled(using: &random) {
          set.add(Box(NSArray(array: [number, "text", NSDecimalNumber(value: number)])))
          let links = NSSet(array: [URL(string: "a:\(number)")!, NSURL(string: "b:")!])
          dictionary.setObject(links, forKey: NSArray(array: [number, "k"]))
        }
        archives.insert(try archive([set, dictionary]))
      }
      #expect(archives.count == 1)
    }
  #endif

  /// Canonically equivalent strings are different keys: identity is the bytes, as everywhere in the cache.
  @Test func equivalentKeysAreTwo() throws {
    let keys = ["\u{E9}", "e\u{301}", "\u{212B}", "A\u{30A}"]
    let item = CBORItem.map(keys.map { (.text($0), .array([.text($0)])) })
    let bytes = try CBOREncoder().encode(item)
    #expect(try CBORItem(Array(bytes)) == item && CBORDecoder().decode(CBORItem.self, from: bytes) == item)
  }

  @Test func randomDocumentsKeepTheirBytes() throws {
    var random = SeededRandom(5)
    for _ in 0..<500 {
      let item = CBORItem.random(&random, depth: 5)
      let bytes = try CBOREncoder().encode(item)
      #expect(item.encoded == Array(bytes))
      #expect(try CBORDecoder().decode(CBORItem.self, from: bytes) == item)
      #expect(try CBORDecoder().decode(CBORItem.self, from: Data(item.indefinite)) == item)
      #expect(try JSONDecoder().decode([CBORItem].self, from: JSONEncoder().encode([item])) == [item])
    }
  }
}
