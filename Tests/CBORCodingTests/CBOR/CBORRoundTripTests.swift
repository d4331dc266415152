import Foundation
import Testing

@testable import CBORCoding

/// Values of every shape survive a round trip, as with `JSONEncoder` and `JSONDecoder`.
@Suite struct CBORRoundTripTests {
  /// A type-erased value and its check.
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let check: @Sendable () throws -> Void

    init<V: Codable & Equatable & SendableMetatype>(
      _ value: @autoclosure @escaping @Sendable () -> V, isTree: Bool = true
    ) {
      testDescription = "\(V.self)"
      check = {
        let value = value()
        let bytes = try CBOREncoder().encode(value)
        let decoded = try CBORDecoder().decode(V.self, from: bytes)
        #expect(decoded == value)
        let item = try CBORItem(Array(bytes))
        #expect(item.encoded == Array(bytes), "not deterministic")
        if isTree {
          let json = try JSONEncoder().encode([value])
          #expect(try CBORItem.array([item]).asInJSON == CBORItem(json: json))
          #expect(try JSONDecoder().decode([V].self, from: json).first == decoded)
        }
        #expect(try CBOREncoder().encode(WrappedShape(value)) == bytes)
        #expect(try CBORDecoder().decode(V?.self, from: bytes) == value)
        #expect(try CBORDecoder().decode(Through<V>.self, from: CBOREncoder().encode(Through(value))) == Through(value))
      }
    }
  }

  struct Through<V: Codable & Equatable>: Codable, Equatable {
    var value: V

    init(_ value: V) { self.value = value }

    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      var map = list.nestedContainer(keyedBy: AnyKey.self)
      try map.encode(value, forKey: "value")
      try map.encodeIfPresent(value, forKey: "present")
      var inner = map.nestedUnkeyedContainer(forKey: "list")
      try inner.encode(value)
      try list.encode(value)
      try WrappedShape(value).encode(to: list.superEncoder())
    }

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      #expect(list.count == 3)
      let map = try list.nestedContainer(keyedBy: AnyKey.self)
      value = try map.decode(V.self, forKey: "value")
      #expect(try map.decodeIfPresent(V.self, forKey: "present") == value)
      #expect(try map.decodeIfPresent(V.self, forKey: "absent") == nil)
      #expect(map.contains("list") && !map.contains("lis"))
      #expect(Set(map.allKeys.map(\.stringValue)) == ["value", "present", "list"])
      var inner = try map.nestedUnkeyedContainer(forKey: "list")
      #expect(try inner.decode(V.self) == value)
      #expect(inner.isAtEnd && inner.currentIndex == 1)
      #expect(try list.decode(V.self) == value)
      #expect(try WrappedShape<V>(from: list.superDecoder()).value == value)
      #expect(list.isAtEnd)
    }
  }

  static let cases: [Case] = [
    Case(EmptyShape()), Case(PlainShape()), Case(WideShape()), Case(OptionalShape()), Case(DictionaryShape()),
    Case(NumberedShape()), Case(BaseShape()), Case(SuperShape()),
    Case([PayloadShape.none, .one(1), .two(name: "n", PlainShape()), .two(name: "", nil), .more([.more([]), .none])]),
    Case(StringRawShape.allCases), Case(IntRawShape.allCases), Case(PayloadShape.one(.min)),
    Case([[[Int]]](repeating: [[], [1]], count: 3)), Case([[String: [Bool]]]()), Case([String: [String: Int?]]()),
    Case(Array(0..<100_000)), Case((0..<1_000).map { "\($0)" }), Case([true, false]), Case([1.5, -0.25] as [Float]),
    Case([0.1, 1e300, -.leastNonzeroMagnitude, 3] as [Double]), Case(["é", "e\u{301}", "\0", "\u{10FFFF}", "日本語"]),
    Case([UInt64.max, 0], isTree: false), Case([nil, 1, nil] as [Int?]), Case(WrappedShape(WrappedShape("x"))),
    Case(Range(uncheckedBounds: (1, 5))), Case(1...3), Case(Set([1])), Case(["x": StringRawShape.red]),
    Case(DateComponents(year: 2024, month: 2, day: 29)), Case(IndexSet([1, 2, 3, 900])),
    Case(Locale(identifier: "en_GB")), Case(CharacterSet.decimalDigits, isTree: false),
    Case("text"), Case(""), Case(true), Case(0.1), Case(Float(0.1), isTree: false), Case(-1), Case(UInt8(255)),
    Case(Int64.min), Case(Int128.min, isTree: false), Case(UInt128.max, isTree: false),
    Case([Int128(1), .min], isTree: false), Case(["x": UInt128.max], isTree: false),
    Case(Data([1, 2, 3]), isTree: false), Case([Data(count: 100_000)], isTree: false),
    Case(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!, isTree: false),
    Case(URL(string: "https://example.org/ä?x=1#y")!, isTree: false),
    Case(URL(fileURLWithPath: "/tmp/a b"), isTree: false),
    Case(Decimal(string: "-1234567890.0987654321")!, isTree: false),
    Case(Date(timeIntervalSince1970: 0.5), isTree: false), Case([-Float.infinity], isTree: false),
  ]

  @Test(arguments: cases) func valuesComeBack(_ value: Case) throws { try value.check() }

  /// A value that is coded within the coding of another, and looks at `userInfo`.
  struct Inner: Codable, Equatable {
    static let key = CodingUserInfoKey(rawValue: "key")!
    var value: PlainShape

    init(_ value: PlainShape) { self.value = value }

    init(from decoder: any Decoder) throws {
      #expect(decoder.userInfo[Self.key] as? String == "value")
      let bytes = try decoder.singleValueContainer().decode(Data.self)
      value = try CBORDecoder().decode(PlainShape.self, from: bytes)
    }

    func encode(to encoder: any Encoder) throws {
      #expect(encoder.userInfo[Self.key] as? String == "value")
      var container = encoder.singleValueContainer()
      try container.encode(CBOREncoder().encode(value))
    }
  }

  @Test func codersWithinCodersAndUserInfoAtEveryLevel() throws {
    var encoder = CBOREncoder()
    encoder.userInfo[Inner.key] = "value"
    var decoder = CBORDecoder()
    decoder.userInfo[Inner.key] = "value"
    let values = ["a": (0..<20).map { Inner(PlainShape(id: $0)) }]
    #expect(try decoder.decode([String: [Inner]].self, from: encoder.encode(values)) == values)
  }
}
