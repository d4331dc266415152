import Foundation
import Platform
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct JSONTests {
  struct Everything: Codable, Identifiable, Equatable {
    var id = "a"
    var integers: [Int64] = [.min, -1, 0, 1, .max]
    var unsigned: [UInt64] = [0, .max]
    var small: [Int8] = [.min, .max]
    var doubles: [Double] = [
      0, -0.5, 1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, 0.1,
    ]
    var floats: [Float] = [0.1, .greatestFiniteMagnitude, .infinity]
    var decimal = Decimal(string: "12345678901234567890.0123456789")!
    var text = "\"\\/\u{8}\u{c}\n\r\t\u{1f}é👩‍👩‍👧\u{2028}"
    var data = Data([0, 1, 255])
    var url = URL(string: "https://example.org/a?b=c")!
    var uuid = UUID()
    var flag = true
    var nothing: Int?
    var optionals: [Int?] = [1, nil, 3]
    var nested: [[String: [Int]]] = [["a": [1]], [:]]
    var byNumber = [1: "one", 2: "two"]
    var byCase: [Case: Int] = [.one: 1]
    var sum: Sum = .pair("x", 2)
    var range = 1..<5

    enum Case: String, Codable { case one }
    enum Sum: Codable, Equatable {
      case none
      case pair(String, Int)
    }
  }

  @Test func everyValueComesBack() throws {
    let garage = Garage(with: [.inMemory])
    let all = Everything()
    try garage.park(all)
    #expect(try garage.retrieve(Everything.self, identifier: "a") == all)
  }

  @Test func theTextIsWhatFoundationReads() throws {
    let garage = Garage(with: [.inMemory])
    try garage.park(Everything())
    let text = try #require(try garage.content(Everything.self, "a"))
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(object["text"] as? String == Everything().text)
    let decoder = JSONDecoder()
    decoder.dataDecodingStrategy = .base64
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let read = try decoder.decode(Everything.self, from: Data(text.utf8))
    #expect(read.integers == Everything().integers && read.doubles == Everything().doubles)
    #expect(read.sum == Everything().sum && read.byCase == Everything().byCase)
  }

  struct Custom: Codable, Identifiable, Equatable {
    var id: Int
    class Base: Codable {
      var base = 1
    }
    final class Derived: Base {
      var derived = 2
      private enum Keys: CodingKey { case derived, list, inner }
      override init() { super.init() }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        derived = try container.decode(Int.self, forKey: .derived)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        #expect(list.count == 5)
        #expect(try list.decode(Int.self) == 1)
        #expect(try list.decodeNil())
        #expect(try !list.decodeNil())
        var inner = try list.nestedUnkeyedContainer()
        #expect(try inner.decode(String.self) == "x")
        #expect(inner.isAtEnd)
        #expect(throws: DecodingError.self) { try inner.decode(String.self) }
        #expect(try list.nestedContainer(keyedBy: Keys.self).decode(Bool.self, forKey: .inner))
        #expect(throws: DecodingError.self) { try list.decode(Bool.self) }
        #expect(try list.superDecoder().singleValueContainer().decode(Double.self) == 1.5)
        #expect(container.contains(.inner) && container.allKeys.count == 3)
        #expect(try container.nestedContainer(keyedBy: Keys.self, forKey: .inner).decodeNil(forKey: .list))
        try super.init(from: container.superDecoder())
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(derived, forKey: .derived)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
        try list.encodeNil()
        var inner = list.nestedUnkeyedContainer()
        try inner.encode("x")
        var keyed = list.nestedContainer(keyedBy: Keys.self)
        try keyed.encode(true, forKey: .inner)
        #expect(list.count == 4)
        var single = list.superEncoder().singleValueContainer()
        try single.encode(1.5)
        var last = container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
        try last.encodeNil(forKey: .list)
        try super.encode(to: container.superEncoder())
      }
    }
    var derived = Derived()
    static func == (one: Custom, other: Custom) -> Bool {
      one.id == other.id && one.derived.base == other.derived.base && one.derived.derived == other.derived.derived
    }
  }

  @Test func everyContainerWorks() throws {
    let garage = Garage(with: [.inMemory])
    let custom = Custom(id: 1)
    custom.derived.base = 10
    custom.derived.derived = 20
    try garage.park(custom)
    #expect(try garage.retrieve(Custom.self, identifier: 1) == custom)
  }

  @Test func sameValuesAreSameBytes() throws {
    var random = SeededRandom(3)
    func value(_ depth: Int) -> JSONValue {
      switch random.below(depth > 4 ? 4 : 6) {
      case 0: .null
      case 1: .bool(random.below(2) == 0)
      case 2: .number(String(random.below(1_000_000) - 500_000))
      case 3: .string(String(decoding: random.bytes(random.below(9)).map { $0 & 0x7f }, as: UTF8.self))
      case 4: .array((0..<random.below(4)).map { _ in value(depth + 1) })
      default:
        .object(Dictionary((0..<random.below(4)).map { ("key\($0 * random.below(9))", value(depth + 1)) }) { $1 })
      }
    }
    for _ in 0..<500 {
      let one = value(0)
      let bytes = JSONWriter.bytes(of: one)
      let read = try JSONParser.value(of: bytes)
      #expect(read == one)
      #expect(JSONWriter.bytes(of: read) == bytes)
    }
  }

  @Test(arguments: [
    (" [ 1 , {\n\"a\" :\ttrue } ] ", "[1,{\"a\":true}]"), (#""A\/😀""#, "\"A/😀\""),
    ("-0.5E+3", "-0.5E+3"), (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
  ])
  func textIsRead(text: String, canonical: String) throws {
    #expect(JSONWriter.bytes(of: try JSONParser.value(of: Array(text.utf8))) == Array(canonical.utf8))
  }
}
