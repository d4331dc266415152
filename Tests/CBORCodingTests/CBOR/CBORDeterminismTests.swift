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

  private struct Everything: Codable, Equatable {
    var colors: [Color: Int] = [:]
    var dates: [Date: Set<Date>] = [:]
    var points: [Point: Point] = [:]
    var set: Set<Point> = []
    var nested: Set<Set<String>> = []
    var optional: [Double: Set<Int>?]?

    init(_ order: [Int], capacity: Int) {
      colors.reserveCapacity(capacity)
      dates.reserveCapacity(capacity)
      points.reserveCapacity(capacity)
      set.reserveCapacity(capacity)
      nested.reserveCapacity(capacity)
      for number in order {
        colors[Color.allCases[number % 5]] = number % 5
        let date = Date(timeIntervalSinceReferenceDate: Double(number) / 3)
        dates[date, default: []].formUnion([date, date + 1, date + 2])
        points[Point(x: number)] = Point(x: -number, name: "n")
        set.insert(Point(x: number, name: number % 2 == 0 ? nil : "\(number)"))
        nested.insert(["a", "b\(number)", "c"])
        optional = (optional ?? [:]).merging([Double(number): [1, number + 2, number + 3]]) { $1 }
      }
    }
  }

  @Test func equalSetsAndDictionariesHaveEqualBytes() throws {
    var random = SeededRandom(8)
    let order = Array(0..<40)
    let expected = Everything(order, capacity: 0)
    var encodings: Set<Data> = []
    for _ in 0..<10 {
      let value = Everything(order.shuffled(using: &random), capacity: random.below(2_000))
      #expect(value == expected)
      let bytes = try CBOREncoder().encode(value)
      #expect(try CBORDecoder().decode(Everything.self, from: bytes) == expected)
      encodings.insert(bytes)
      encodings.insert(Data(try CBORItem(Array(bytes)).encoded))
    }
    #expect(encodings.count == 1)
    #expect(
      try CBORDiagnostic(Array(CBOREncoder().encode([Color.red: 1, .blue: 2, .green: 3, .white: 4])).span.bytes).text
        == #"["red", 1, "blue", 2, "green", 3, "white", 4]"#)
  }

  #if !canImport(Darwin)
    /// Elements and keys are objects, some of which refer back to the set.
    @Test func equalSetsOfObjectsHaveEqualBytes() throws {
      var random = SeededRandom(9)
      var archives: Set<Data> = []
      for _ in 0..<10 {
        let order = (0..<30).shuffled(using: &random)
        let set = NSMutableSet()
        let boxes = order.map { Box(NSArray(array: [$0, "text", NSDecimalNumber(value: $0)])) }
        for box in boxes { set.add(box) }
        set.add(Box(NSArray(array: [set])))
        let dictionary = NSMutableDictionary()
        for number in order {
          dictionary.setObject(
            NSSet(array: [URL(string: "a:\(number)")!, NSURL(string: "b:")!]), forKey: NSArray(array: [number, "k"]))
        }
        archives.insert(try archive([set, dictionary]))
      }
      #expect(archives.count == 1)
    }
  #endif

  /// Canonically equivalent strings are different keys: identity is the bytes, as everywhere in the cache.
  @Test func equivalentKeysAreTwo() throws {
    let bytes = try CBOREncoder().encode(
      Encoding("") { encoder in
        var map = encoder.container(keyedBy: AnyKey.self)
        try map.encode(1, forKey: "\u{E9}")
        try map.encode(2, forKey: "e\u{301}")
        _ = map.nestedContainer(keyedBy: AnyKey.self, forKey: "\u{212B}")
        var list = map.nestedUnkeyedContainer(forKey: "A\u{30A}")
        try list.encode(3)
      })
    var decoder = CBORDecoder()
    decoder.userInfo[Decoding.body] =
      { decoder in
        let map = try decoder.container(keyedBy: AnyKey.self)
        #expect(map.allKeys.count == 4)
        #expect(try map.decode(Int.self, forKey: "\u{E9}") == 1)
        #expect(try map.decode(Int.self, forKey: "e\u{301}") == 2)
        #expect(try map.decode([Int].self, forKey: "A\u{30A}") == [3])
      } as Decoding.Body
    _ = try decoder.decode(Decoding.self, from: bytes)
  }

  @Test func randomDocumentsKeepTheirBytes() throws {
    var random = SeededRandom(5)
    for _ in 0..<500 {
      let tree = CBORTree.random(&random, depth: 5)
      let bytes = try CBOREncoder().encode(tree)
      #expect(tree.item.encoded == Array(bytes))
      let decoded = try CBORDecoder().decode(CBORTree.self, from: bytes)
      #expect(decoded == tree)
      #expect(try CBOREncoder().encode(decoded) == bytes)
      #expect(try CBORDecoder().decode(CBORTree.self, from: Data(tree.item.indefinite)) == tree)
      #expect(
        try JSONDecoder().decode(CBORTree.self, from: JSONEncoder().encode([tree]).dropFirst().dropLast()) == tree)
    }
  }
}

extension CBORTree: Codable {
  init(from decoder: any Decoder) throws {
    if let map = try? decoder.container(keyedBy: AnyKey.self) {
      // In another order than the document's.
      let pairs = try map.allKeys.reversed().map { ($0.stringValue, try map.decode(CBORTree.self, forKey: $0)) }
      self = .map(Dictionary(uniqueKeysWithValues: pairs))
    } else if var list = try? decoder.unkeyedContainer() {
      var items: [CBORTree] = []
      while !list.isAtEnd { items.append(try list.decode(CBORTree.self)) }
      self = .array(items)
    } else {
      let single = try decoder.singleValueContainer()
      if single.decodeNil() {
        self = .null
      } else if let bool = try? single.decode(Bool.self) {
        self = .bool(bool)
      } else if let number = try? single.decode(Double.self) {
        self = .number(number)
      } else {
        self = .text(try single.decode(String.self))
      }
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .map(let entries):
      var map = encoder.container(keyedBy: AnyKey.self)
      for (key, value) in entries { try map.encode(value, forKey: AnyKey(stringValue: key)) }
      return
    case .array(let items):
      var list = encoder.unkeyedContainer()
      for item in items { try list.encode(item) }
      return
    default: break
    }
    var single = encoder.singleValueContainer()
    switch self {
    case .bool(let value): try single.encode(value)
    case .number(let value):
      if let integer = Int64(exactly: value) { try single.encode(integer) } else { try single.encode(value) }
    case .text(let value): try single.encode(value)
    default: try single.encodeNil()
    }
  }

  static func random(_ random: inout SeededRandom, depth: Int) -> CBORTree {
    func text() -> String {
      let scalars: [String] = ["a", "b", "key", "é", "\0", "\u{1F600}", "\"", "long and longer ", "0"]
      return (0..<random.below(5)).map { _ in scalars[random.below(scalars.count)] }.joined()
    }
    let kind = random.below(depth > 0 ? 9 : 6)
    switch kind {
    case 0: return .null
    case 1: return .bool(random.below(2) == 0)
    case 2: return .number(Double(random.below(1 << (1 + random.below(50)))) * (random.below(2) == 0 ? 1 : -1))
    case 3: return .number(Double.random(in: -1e6...1e6, using: &random))
    case 4, 5: return .text(text())
    case 6: return .array((0..<random.below(30)).map { _ in CBORTree.random(&random, depth: depth - 2) })
    default:
      var map: [String: CBORTree] = [:]
      for _ in 0..<random.below(kind == 7 ? 8 : 40) { map[text()] = CBORTree.random(&random, depth: depth - 2) }
      return .map(map)
    }
  }
}
