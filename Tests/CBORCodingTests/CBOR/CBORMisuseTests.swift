import Foundation
import Testing

@testable import CBORCoding

/// Types that make impossible requests, and containers used after their time.
@Suite struct CBORMisuseTests {
  func encodingError(_ body: @escaping (any Encoder) throws -> Void) -> (path: [String], text: String) {
    CBORErrorTests.encodingError(of: ["root": [Encoding("", body)]])
  }

  @Test func containersOfTwoKindsAreAnError() {
    let kinds = encodingError { encoder in
      _ = encoder.unkeyedContainer()
      _ = encoder.container(keyedBy: AnyKey.self)
    }
    #expect(kinds.path == ["root", "Index 0"] && kinds.text.contains("keyed") && kinds.text.contains("superEncoder"))
    let values = encodingError { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(1)
      try single.encode(2)
    }
    #expect(values.path == ["root", "Index 0"] && values.text.contains("two values"))
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
      var list = keptEncoder?.unkeyedContainer()
      #expect(throws: EncodingError.self) { try list?.encode(1) }
      var nested = kept?.nestedContainer(keyedBy: AnyKey.self, forKey: "nested")
      #expect(throws: EncodingError.self) { try nested?.encode(1, forKey: "x") }
      #expect(try CBOREncoder().encode([1, 2]) == Data([0x82, 1, 2]) && kept?.codingPath.isEmpty == true)
    }
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

  /// Types that decode in two steps use containers after `init(from:)`, but within the call.
  @Test func containersLastAsLongAsTheCall() throws {
    struct Lazy: Decodable {
      let map: KeyedDecodingContainer<AnyKey>
      let list: any UnkeyedDecodingContainer
      let decoder: any Decoder
      init(from decoder: any Decoder) throws {
        map = try decoder.container(keyedBy: AnyKey.self)
        list = try map.nestedUnkeyedContainer(forKey: "b")
        self.decoder = decoder
      }
    }
    struct Root: Decodable {
      let all: [Lazy]
      init(from decoder: any Decoder) throws {
        let all = try decoder.singleValueContainer().decode([Lazy].self)
        self.all = all
        #expect(try all.map { try $0.map.decode(Int.self, forKey: "a") } == [0, 1, 2, 3])
        #expect(try all.map { try $0.map.decode([String].self, forKey: "b") } == [["0"], ["1"], ["2"], ["3"]])
      }
    }
    struct Value: Encodable { let a: Int, b: [String] }
    let bytes = try CBOREncoder().encode((0..<4).map { Value(a: $0, b: ["\($0)"]) })
    for last in try CBORDecoder().decode(Root.self, from: bytes).all {
      #expect(throws: DecodingError.self) { try last.map.decode([String].self, forKey: "b") }
      #expect(throws: DecodingError.self) { try last.map.decodeIfPresent(Int.self, forKey: "a") }
      #expect(!last.map.contains("a") && last.map.allKeys.isEmpty && last.map.codingPath.isEmpty)
      var list = last.list
      #expect(throws: DecodingError.self) { try list.decode(String.self) }
      #expect(throws: DecodingError.self) { try last.decoder.container(keyedBy: AnyKey.self) }
      #expect(throws: DecodingError.self) { try last.decoder.unkeyedContainer() }
      #expect(throws: DecodingError.self) { try last.decoder.singleValueContainer() }
      #expect(try CBORDecoder().decode([Int].self, from: Data([0x82, 1, 2])) == [1, 2])
    }
  }
}
