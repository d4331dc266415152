import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// One value, one sequence of bytes (RFC 8949 §4.2.1).
@Suite struct CBORDeterminismTests {
  private enum Color: String, Codable, CaseIterable { case red, green, blue, white, black }

  private typealias Unordered = [Set<Int>: [Double: [Color: Set<Date>]]]

  private func unordered(_ order: [Int], capacity: Int) -> Unordered {
    var value = Unordered(minimumCapacity: capacity)
    for number in order {
      let date = Date(timeIntervalSinceReferenceDate: Double(number) / 3)
      let color = Color.allCases[number % 5]
      value[[number, number + 1, number + 2], default: [:]][0.5] = [color: [date, date + 1, date + 2]]
      value[[], default: [:]][Double(number), default: [:]][color] = [date]
    }
    return value
  }

  @Test func equalSetsAndDictionariesHaveEqualBytes() throws {
    var random = SeededRandom(8)
    let order = Array(0..<40)
    let expected = unordered(order, capacity: 0)
    var encodings: Set<Data> = []
    for _ in 0..<10 {
      let value = unordered(order.shuffled(using: &random), capacity: random.below(2_000))
      let bytes = try CBOREncoder().encode(value)
      #expect(try value == expected && CBORDecoder().decode(Unordered.self, from: bytes) == expected)
      encodings.formUnion([bytes, Data(try CBORItem(Array(bytes)).encoded)])
    }
    #expect(encodings.count == 1)
    #expect(
      try CBORDiagnostic(Array(CBOREncoder().encode([Color.red: 1, .blue: 2, .green: 3, .white: 4])).span.bytes).text
        == #"["red", 1, "blue", 2, "green", 3, "white", 4]"#)
  }

  #if !canImport(Darwin)
    /// Elements and keys are objects. One element refers back to the set.
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
}
