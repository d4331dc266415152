import Foundation
import Testing

@testable import CBORCoding

/// Errors match those of `JSONDecoder`, including their paths.
@Suite struct CBORErrorTests {
  /// A JSON document and a type to decode from it.
  struct Question: CustomTestStringConvertible, Sendable {
    let json: String
    let name: String
    let ask: @Sendable (_ json: Data, _ cbor: Data) -> (String, String)
    var testDescription: String { "\(json) as \(name)" }

    init<T: Decodable & SendableMetatype>(
      _ json: String, _ type: T.Type, _ name: String? = nil, _ body: Decoding.Body? = nil
    ) {
      self.json = json
      self.name = name ?? "\(type)"
      ask = { json, cbor in
        let jsonDecoder = JSONDecoder()
        var cborDecoder = CBORDecoder()
        if let body {
          jsonDecoder.userInfo[Decoding.body] = body
          cborDecoder.userInfo[Decoding.body] = body
        }
        return (
          CBORErrorTests.summary { try jsonDecoder.decode(type, from: json) },
          CBORErrorTests.summary { try cborDecoder.decode(type, from: cbor) }
        )
      }
    }

    init(_ json: String, _ name: String, _ body: @escaping Decoding.Body) {
      self.init(json, Decoding.self, name, body)
    }
  }

  /// An error's case, type and path, without its message.
  static func summary(_ body: () throws -> some Any) -> String {
    func path(_ context: DecodingError.Context) -> String {
      context.codingPath.map { "\($0.stringValue)/\($0.intValue.map(String.init) ?? "-")" }.joined(separator: " ")
    }
    do {
      return "value \(try body())"
    } catch DecodingError.typeMismatch(let type, let context) {
      return "typeMismatch \(type) at \(path(context))"
    } catch DecodingError.valueNotFound(let type, let context) {
      return "valueNotFound \(type) at \(path(context))"
    } catch DecodingError.keyNotFound(let key, let context) {
      return "keyNotFound \(key.stringValue) at \(path(context))"
    } catch DecodingError.dataCorrupted(let context) {
      return "dataCorrupted at \(path(context))"
    } catch {
      return "\(error)"
    }
  }

  /// The path and the text of the error that encoding throws.
  static func encodingError(of value: some Encodable) -> (path: [String], text: String) {
    do {
      return ([], "no error, but \(try CBOREncoder().encode(value))")
    } catch EncodingError.invalidValue(_, let context) {
      return (context.codingPath.map(\.stringValue), context.debugDescription)
    } catch {
      return ([], "\(error)")
    }
  }

  struct Leaves: Decodable { var url: URL?, uuid: UUID?, date: Date? }

  static let questions: [Question] = [
    Question("{}", PlainShape.self), Question("[]", PlainShape.self), Question("null", PlainShape.self),
    Question("1", PlainShape.self), Question(#""x""#, PlainShape.self), Question(#"{"id":null}"#, PlainShape.self),
    Question(#"{"id":"x"}"#, PlainShape.self), Question(#"{"id":1}"#, PlainShape.self),
    Question(#"{"id":1,"name":1}"#, PlainShape.self), Question(#"{"id":true}"#, PlainShape.self),
    Question(#"[{"a":[1,{"b":true}]}]"#, [[String: [Int]]].self), Question(#"[1,null]"#, [Int].self),
    Question(#"{"a":{"b":[1,"x"]}}"#, [String: [String: [Int]]].self), Question("{}", [Int].self),
    Question(#"[1,2,"a"]"#, [Int].self), Question("[null,null]", [Double].self),
    Question(#"[1,"a"]"#, [String].self), Question("[false,1]", [Bool].self), Question(#"[[1],["a"]]"#, [[Int]].self),
    Question("[]", [String: Int].self), Question(#"{"x":1}"#, [Int: Int].self), Question(#"{"1":1}"#, [Int: Int].self),
    Question(#""blue""#, StringRawShape.self), Question(#"{"a":7}"#, [String: IntRawShape].self),
    Question(#"{"one":{}}"#, PayloadShape.self), Question(#"{"what":{}}"#, PayloadShape.self),
    Question(#"{"one":{"_0":"x"}}"#, PayloadShape.self), Question(#"{"two":{"name":"n"}}"#, PayloadShape.self),
    Question(#"{"none":{},"one":{"_0":1}}"#, PayloadShape.self), Question(#"{"two":[]}"#, PayloadShape.self),
    Question(#"{"more":{"_0":[{"none":{}},{"one":{"_0":null}}]}}"#, PayloadShape.self),
    Question(#"[null,{"name":1}]"#, [PlainShape?].self), Question("true", Int.self), Question("1", Bool.self),
    Question("1", String.self), Question(#""1""#, Int.self), Question(#""1""#, Double.self), Question("null", Int.self),
    Question("[[1],[null]]", [[Double]].self), Question("300", WrappedShape<Int8>.self),
    Question(#"{"super":{"base":"x"},"own":"o"}"#, SuperShape.self), Question(#"{"own":"o"}"#, SuperShape.self),
    Question(#"{"super":1,"own":"o"}"#, SuperShape.self),
    Question(#"{"url":""}"#, Leaves.self), Question(#"{"uuid":"x"}"#, Leaves.self),
    Question(#"{"date":[]}"#, Leaves.self), Question(#"{"url":true}"#, Leaves.self),
    Question(#"{"url":null,"uuid":null,"date":null}"#, Leaves.self),
    Question(#"{"first":1}"#, [RepresentableKey: Int].self),
    Question(#"{"third":1}"#, [RepresentableKey: Int].self), Question("[0.5]", [Double: Int].self),
  ]

  private static func map(_ decoder: any Decoder) throws -> KeyedDecodingContainer<AnyKey> {
    try decoder.container(keyedBy: AnyKey.self)
  }

  private static func list(
    _ json: String, _ name: String, _ body: @escaping @Sendable (inout any UnkeyedDecodingContainer) throws -> Void
  ) -> Question {
    Question(json, name) {
      var list = try $0.unkeyedContainer()
      try body(&list)
    }
  }

  static let calls: [Question] = [
    list("[]", "decode at the end") { _ = try $0.decode(Int.self) },
    list("[1]", "decode beyond the end") {
      _ = try $0.decode(Int.self)
      _ = try $0.decode(PlainShape.self)
    },
    list("[]", "nil at the end") { _ = try $0.decodeNil() },
    list("[]", "a super decoder at the end") { _ = try $0.superDecoder() },
    // JSON's container counts these as elements, ours does not.
    list("[]", "values that may be absent at the end") {
      let values = (try $0.decodeIfPresent(Int.self), try $0.decodeIfPresent(PlainShape.self))
      #expect(values.0 == nil && values.1 == nil)
    },
    Question("[null,null,1]", "decodeIfPresent of null") {
      var list = try $0.unkeyedContainer()
      #expect(try list.decodeIfPresent(Int.self) == nil)
      #expect(try list.decodeIfPresent(PlainShape.self) == nil)
      #expect(try list.decodeNil() == false && list.currentIndex == 2)
      // A failure does not advance.
      #expect(throws: DecodingError.self) { try list.decode([PlainShape].self) }
      #expect(list.currentIndex == 2)
      _ = try list.decodeIfPresent(String.self)
    },
    list("[null]", "a nested array that is null") { _ = try $0.nestedUnkeyedContainer() },
    Question("{}", "a nested map that is absent") {
      _ = try map($0).nestedContainer(keyedBy: AnyKey.self, forKey: "a")
    },
    Question("{}", "a nested array that is absent") { _ = try map($0).nestedUnkeyedContainer(forKey: "a") },
    Question(#"{"a":null}"#, "a nested map that is null") {
      _ = try map($0).nestedContainer(keyedBy: AnyKey.self, forKey: "a")
    },
    Question(#"{"a":1}"#, "a nested array in place of a number") {
      _ = try map($0).nestedUnkeyedContainer(forKey: "a")
    },
    Question("{}", "nil that is absent") { _ = try map($0).decodeNil(forKey: "a") },
    Question(#"{"a":null,"b":"x"}"#, "values that may be absent") {
      let map = try map($0)
      #expect(try map.decodeNil(forKey: "a") && !map.decodeNil(forKey: "b"))
      #expect(try map.decodeIfPresent(Int.self, forKey: "a") == nil)
      #expect(try map.decodeIfPresent([Int].self, forKey: "c") == nil)
      #expect(map.contains("a") && map.contains("b") && !map.contains("c"))
      _ = try map.decodeIfPresent(Int.self, forKey: "b")
    },
    Question("{}", "super decoders of what is absent") {
      let parent = try map($0).superDecoder()
      #expect(parent.codingPath.map(\.stringValue) == ["super"])
      #expect(try parent.singleValueContainer().decodeNil())
      _ = try map($0).superDecoder(forKey: "a").singleValueContainer().decode(Int.self)
    },
    Question("{}", "a map of what is absent") { _ = try map(map($0).superDecoder()) },
    Question(#"{"a":[[1,[2,"x"]]]}"#, "paths through nested containers") {
      var a = try map($0).nestedUnkeyedContainer(forKey: "a")
      var b = try a.nestedUnkeyedContainer()
      _ = try b.decode(Int.self)
      var c = try b.superDecoder().unkeyedContainer()
      _ = try c.decode(Int.self)
      #expect(a.codingPath.map(\.stringValue) == ["a"] && b.codingPath.map(\.intValue) == [nil, 0])
      #expect(c.codingPath.map(\.intValue) == [nil, 0, 1])
      _ = try c.decode([Int].self)
    },
  ]

  @Test(arguments: questions + calls) func isTheErrorOfJSON(_ question: Question) throws {
    let json = Data(question.json.utf8)
    let item = try CBORItem(json: json)
    for cbor in [item.encoded, item.indefinite] {
      let (expected, found) = question.ask(json, Data(cbor))
      #expect(found == expected)
    }
  }

  @Test(arguments: [
    "a201000100", "a2616100616100", "a20100180100", "a3616100616200616100",
    "bf6161007f6161ff00ff", "a2f93c0000f93c0000", "a280008000", "a2c10000c10000", "8181a220002000", "a261610078016100",
    "d9d9f7a2616100616100",
  ])
  func aKeyTwiceIsCorrupted(_ hex: String) {
    let error = #expect(throws: DecodingError.self) {
      try CBORDecoder().decode(Decoding.self, from: Data([UInt8](hex: hex)))
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    let cause = context.underlyingError as? CBORCodingError
    #expect(cause?.code == .malformed)
    #expect(cause?.message.contains("two entries with the same key") == true)
  }

  @Test func descriptionsSayWhatToDo() {
    func description<T: Decodable>(_ bytes: [UInt8], as type: T.Type, in decoder: CBORDecoder = .init()) -> String {
      do { return "\(try decoder.decode(type, from: Data(bytes)))" } catch { return "\(error)" }
    }
    let tooWide = description([0x19, 1, 0], as: UInt8.self)
    #expect(tooWide.contains("256") && tooWide.contains("wider"))
    #expect(description([0x82, 1, 0x61], as: [Int].self).contains("cut off"))
    #expect(description([0x83, 1, 2, 0x61, 0xFF], as: [Int].self).contains("byte 3"))
    #expect(description([0xA0], as: [Int].self).contains("found a map"))
    var decoder = CBORDecoder()
    decoder.maximumSize = 3
    #expect(description([0x83, 1, 2, 3], as: [Int].self, in: decoder).contains("maximumSize"))
    #expect(description([0x82, 1, 2], as: [Int].self, in: decoder) == "[1, 2]")
  }
}
