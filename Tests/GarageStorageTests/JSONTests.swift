import Foundation
import Platform
import Testing

@testable import GarageStorage

@Suite struct JSONTests {
  let garage = Garage(with: [.inMemory])

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

  @Test func everyValueComesBackAndFoundationReadsIt() throws {
    let all = Everything()
    try garage.park(all)
    #expect(try garage.retrieve(Everything.self, identifier: "a") == all)
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let text = try #require(try garage.content(Everything.self, "a"))
    let read = try decoder.decode(Everything.self, from: Data(text.utf8))
    #expect(read.text == all.text && read.integers == all.integers && read.doubles == all.doubles)
    #expect(read.data == all.data && read.sum == all.sum && read.byCase == all.byCase)
  }

  // MARK: - Containers

  final class Nested: Codable, Identifiable {
    var id = 20
    var list: [Int] = [1, 2]

    private enum CodingKeys: CodingKey { case id, list, inner }

    init() {}

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      #expect(container.allKeys.count == 3 && container.contains(.inner))
      let inner = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      id = try inner.decode(Int.self, forKey: .id)
      #expect(try inner.decodeNil(forKey: .list))
      var outer = try container.nestedUnkeyedContainer(forKey: .list)
      #expect(outer.count == 3)
      #expect(try !outer.decodeNil())
      #expect(throws: DecodingError.self) { try outer.decode(Bool.self) }
      list = try outer.decode([Int].self)
      #expect(try outer.decodeNil())
      #expect(try outer.superDecoder().singleValueContainer().decode(Double.self) == 1.5)
      #expect(outer.isAtEnd)
      #expect(throws: DecodingError.self) { try outer.decode(Int.self) }
      #expect(try container.superDecoder().singleValueContainer().decode(String.self) == "base")
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(0, forKey: .id)
      try container.encode(1, forKey: .id)
      var list = container.nestedUnkeyedContainer(forKey: .list)
      var numbers = list.nestedUnkeyedContainer()
      for number in self.list { try numbers.encode(number) }
      try list.encodeNil()
      // A second request for a container returns the first one.
      var again = container.nestedUnkeyedContainer(forKey: .list)
      try 1.5.encode(to: again.superEncoder())
      var first = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      try first.encode(id, forKey: .id)
      var second = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      try second.encodeNil(forKey: .list)
      try "base".encode(to: container.superEncoder())
    }
  }

  @Test func everyContainerWorksAsInFoundation() throws {
    let nested = Nested()
    try garage.park(nested)
    #expect(try garage.retrieve(Nested.self, identifier: 20)?.list == [1, 2])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(try garage.content(Nested.self, "20") == String(decoding: try encoder.encode(nested), as: UTF8.self))
  }

  /// Encodes itself by a closure.
  struct Written: Codable, Identifiable {
    var id = "a"
    var write: (any Encoder) throws -> Void
    init(_ write: @escaping (any Encoder) throws -> Void) { self.write = write }
    init(from decoder: any Decoder) throws { write = { _ in } }
    func encode(to encoder: any Encoder) throws { try write(encoder) }
  }

  @Test func whatWouldLoseSomethingIsAnError() throws {
    let written = Written { encoder in
      _ = encoder.unkeyedContainer()
      try "lost".encode(to: encoder)
    }
    #expect(failure { try garage.park(written) }?.code == .unencodable)
    #expect(try garage.content(Written.self, "a") == nil)
  }

  @Test(arguments: [1, 508, 509, 510, 511, 512, 513, 5_000])
  func containersThatCanBeWrittenCanBeRead(depth: Int) throws {
    // A reference and a set take no further place.
    for value in [1, Pet(1), Set(["x", "y"])] as [any Encodable] {
      let written = Written { encoder in
        var container = encoder.unkeyedContainer()
        for _ in 1..<depth { container = container.nestedUnkeyedContainer() }
        try container.encode(value)
      }
      if depth <= EncodingSlot.deepest {
        try garage.park(written)
        #expect(try garage.retrieve(Written.self, identifier: "a") != nil)
      } else {
        #expect(failure { try garage.park(written) }?.code == .nestedTooDeeply)
      }
    }
  }

  // MARK: - Text

  @Test(arguments: [
    (" [ 1 , {\n\"a\" :\ttrue } ] ", "[1,{\"a\":true}]"), (#""\u0041\/\ud83d\ude00""#, "\"A/😀\""),
    ("-0.5E+3", "-0.5E+3"), (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
  ])
  func textIsRead(text: String, canonical: String) throws {
    #expect(JSONWriter.bytes(of: try JSONParser.value(of: Array(text.utf8))) == Array(canonical.utf8))
  }
}
