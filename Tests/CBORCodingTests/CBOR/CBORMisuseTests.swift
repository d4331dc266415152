import Foundation
import Testing

@testable import CBORCoding

/// Types that make impossible requests, and containers used after their time.
@Suite struct CBORMisuseTests {
  func encodingError(_ body: @escaping (any Encoder) throws -> Void) -> (path: [String], text: String) {
    do {
      _ = try CBOREncoder().encode(["root": [Encoding("", body)]])
      return ([], "no error")
    } catch EncodingError.invalidValue(_, let context) {
      return (context.codingPath.map(\.stringValue), context.debugDescription)
    } catch {
      return ([], "\(error)")
    }
  }

  @Test func containersOfTwoKindsAreAnError() {
    let a = encodingError { encoder in
      _ = encoder.unkeyedContainer()
      _ = encoder.container(keyedBy: AnyKey.self)
    }
    #expect(a.path == ["root", "Index 0"] && a.text.contains("keyed") && a.text.contains("superEncoder"))
    let b = encodingError { encoder in
      var map = encoder.container(keyedBy: AnyKey.self)
      try map.encode(
        Encoding("") { encoder in
          _ = encoder.singleValueContainer()
          var list = encoder.unkeyedContainer()
          try list.encode(1)
        }, forKey: "key")
    }
    #expect(b.path == ["root", "Index 0", "key"])
    let c = encodingError { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(1)
      try single.encode(2)
    }
    #expect(c.path == ["root", "Index 0"] && c.text.contains("two values"))
  }

  @Test func aContainerIsOfNoUseAfterItsValue() throws {
    nonisolated(unsafe) var kept: KeyedEncodingContainer<AnyKey>?
    nonisolated(unsafe) var keptEncoder: (any Encoder)?
    let error = encodingError { encoder in
      var list = encoder.unkeyedContainer()
      try list.encode(
        Encoding("") { encoder in
          kept = encoder.container(keyedBy: AnyKey.self)
          keptEncoder = encoder
        })
      try kept?.encode(1, forKey: "late")
    }
    #expect(error.text.contains("after"))
    for _ in 0..<3 {
      #expect(throws: EncodingError.self) { try kept?.encode(1, forKey: "later") }
      #expect(throws: EncodingError.self) { try kept?.encode([PlainShape()], forKey: "later") }
      var list = keptEncoder?.unkeyedContainer()
      #expect(throws: EncodingError.self) { try list?.encode(1) }
      var nested = kept?.nestedContainer(keyedBy: AnyKey.self, forKey: "nested")
      #expect(throws: EncodingError.self) { try nested?.encode(1, forKey: "x") }
      #expect(try CBOREncoder().encode([1, 2]) == Data([0x82, 1, 2]))
    }
    #expect(kept?.codingPath.isEmpty == true)
    let outer = encodingError { encoder in
      var map = encoder.container(keyedBy: AnyKey.self)
      let same = map
      try map.encode(
        Encoding("") { _ in
          var same = same
          try same.encode(1, forKey: "from within")
        }, forKey: "key")
    }
    #expect(outer.text.contains("while a value within"))
  }

  @Test func aDecoderIsOfNoUseAfterItsCall() throws {
    nonisolated(unsafe) var map: KeyedDecodingContainer<AnyKey>?
    nonisolated(unsafe) var list: (any UnkeyedDecodingContainer)?
    nonisolated(unsafe) var single: (any SingleValueDecodingContainer)?
    nonisolated(unsafe) var kept: (any Decoder)?
    let body: Decoding.Body = { decoder in
      kept = decoder
      map = try decoder.container(keyedBy: AnyKey.self)
      list = try map?.nestedUnkeyedContainer(forKey: "list")
      single = try decoder.singleValueContainer()
    }
    var decoder = CBORDecoder()
    decoder.userInfo[Decoding.body] = body
    _ = try decoder.decode(Decoding.self, from: CBOREncoder().encode(["list": [1, 2]]))
    for _ in 0..<2 {
      #expect(throws: DecodingError.self) { try map?.decode([Int].self, forKey: "list") }
      #expect(throws: DecodingError.self) { try map?.decodeIfPresent(Int.self, forKey: "list") }
      #expect(map?.contains("list") == false && map?.allKeys.isEmpty == true && map?.codingPath.isEmpty == true)
      #expect(throws: DecodingError.self) { try list?.decode(Int.self) }
      #expect(throws: DecodingError.self) { try list?.decodeNil() }
      #expect(throws: DecodingError.self) { try single?.decode(Int.self) }
      #expect(single?.decodeNil() == false)
      #expect(throws: DecodingError.self) { try kept?.container(keyedBy: AnyKey.self) }
      #expect(throws: DecodingError.self) { try kept?.unkeyedContainer() }
      #expect(throws: DecodingError.self) { try kept?.singleValueContainer() }
      #expect(try CBORDecoder().decode([Int].self, from: Data([0x82, 1, 2])) == [1, 2])
    }
  }

  /// Types that decode in two steps use containers after `init(from:)`, but within the call.
  @Test func containersLastAsLongAsTheCall() throws {
    struct Lazy: Decodable {
      let map: KeyedDecodingContainer<AnyKey>
      init(from decoder: any Decoder) throws { map = try decoder.container(keyedBy: AnyKey.self) }
    }
    struct Root: Decodable {
      init(from decoder: any Decoder) throws {
        let all = try decoder.singleValueContainer().decode([Lazy].self)
        #expect(try all.map { try $0.map.decode(Int.self, forKey: "a") } == [0, 1, 2, 3])
        #expect(try all.map { try $0.map.decode([String].self, forKey: "b") } == [["0"], ["1"], ["2"], ["3"]])
      }
    }
    struct Value: Encodable { let a: Int, b: [String] }
    _ = try CBORDecoder().decode(Root.self, from: CBOREncoder().encode((0..<4).map { Value(a: $0, b: ["\($0)"]) }))
  }
}
