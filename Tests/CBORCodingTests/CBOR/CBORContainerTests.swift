import Foundation
import Testing

@testable import CBORCoding

/// Containers in every interleaving match the result of `JSONEncoder` for the same calls.
@Suite struct CBORContainerTests {
  static let cases: [Encoding] = nested + supers + singles + repetitions

  private static let nested: [Encoding] = [
    Encoding("two live nested containers") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var a = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
      var b = outer.nestedUnkeyedContainer(forKey: "b")
      try a.encode(1, forKey: "z")
      try b.encode("one")
      try a.encode(2, forKey: "y")
      try b.encode("two")
      try outer.encode(3, forKey: "c")
      try a.encode(4, forKey: "xx")
      try b.encode("three")
    },
    Encoding("nested containers left empty") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      _ = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "map")
      _ = outer.nestedUnkeyedContainer(forKey: "array")
      _ = outer.superEncoder()
      _ = outer.superEncoder(forKey: "parent")
    },
    Encoding("nested containers of an array left empty") { encoder in
      var outer = encoder.unkeyedContainer()
      _ = outer.nestedContainer(keyedBy: AnyKey.self)
      try outer.encode(1)
      _ = outer.nestedUnkeyedContainer()
      _ = outer.superEncoder()
    },
    Encoding("arrays, alternately") { encoder in
      var outer = encoder.unkeyedContainer()
      try outer.encode(0)
      var a = outer.nestedUnkeyedContainer()
      try outer.encode("between")
      var b = outer.nestedUnkeyedContainer()
      for index in 0..<30 {
        try a.encode(index)
        try b.encode([index, index])
        if index % 3 == 0 { try outer.encode(index) }
      }
    },
    Encoding("four levels, innermost first and last") { encoder in
      var a = encoder.container(keyedBy: AnyKey.self)
      var b = a.nestedContainer(keyedBy: AnyKey.self, forKey: "b")
      var c = b.nestedUnkeyedContainer(forKey: "c")
      var d = c.nestedContainer(keyedBy: AnyKey.self)
      try d.encode(1, forKey: "zz")
      try c.encode(2)
      try b.encode(3, forKey: "a")
      try a.encode(4, forKey: "a")
      try d.encode(5, forKey: "a")
      try c.encode(PlainShape())
      try a.encode(PlainShape(), forKey: "longer key")
      try b.encode([PlainShape()], forKey: "")
      try d.encode(DictionaryShape().strings, forKey: "b")
    },
    Encoding("a thousand nested containers") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      for index in 0..<1_000 {
        var inner = outer.nestedUnkeyedContainer(forKey: AnyKey(stringValue: "\((index * 7919) % 1_000)"))
        try inner.encode(index)
      }
      var list = outer.nestedUnkeyedContainer(forKey: "list")
      for index in 0..<1_000 {
        var inner = list.nestedContainer(keyedBy: AnyKey.self)
        try inner.encode(index, forKey: "i")
      }
    },
    Encoding("values within nested containers within values") { encoder in
      var outer = encoder.unkeyedContainer()
      for _ in 0..<3 {
        try outer.encode(
          Encoding("") { encoder in
            var map = encoder.container(keyedBy: AnyKey.self)
            var list = map.nestedUnkeyedContainer(forKey: "list")
            try list.encode(PayloadShape.two(name: "n", PlainShape()))
            try map.encode(PayloadShape.more([.none, .one(2)]), forKey: "a")
            try list.encode(nil as Int?)
          })
      }
    },
    Encoding("containers of more than 23, 255 and 65535 entries") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      for count in [23, 24, 255, 256, 65_536] {
        try outer.encode(Array(repeating: PayloadShape.none, count: count), forKey: AnyKey(stringValue: "a\(count)"))
        let entries = (0..<count).map { ("\($0)", [$0]) }
        try outer.encode(Dictionary(uniqueKeysWithValues: entries), forKey: AnyKey(stringValue: "m\(count)"))
      }
    },
  ]

  private static let supers: [Encoding] = [
    Encoding("super encoders of a map, alternately") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      let first = outer.superEncoder()
      let second = outer.superEncoder(forKey: "second")
      var a = first.container(keyedBy: AnyKey.self)
      var b = second.unkeyedContainer()
      try a.encode(1, forKey: "one")
      try b.encode(2)
      try outer.encode(3, forKey: "three")
      try a.encode(4, forKey: "four")
      try b.encode(5)
    },
    Encoding("super encoders of an array") { encoder in
      var outer = encoder.unkeyedContainer()
      try BaseShape().encode(to: outer.superEncoder())
      try outer.encode(1)
      var single = outer.superEncoder().singleValueContainer()
      try single.encode("single")
      try SuperShape().encode(to: outer.superEncoder())
    },
    Encoding("the same encoder for two key types") { encoder in
      var a = encoder.container(keyedBy: AnyKey.self)
      var b = encoder.container(keyedBy: PlainKeys.self)
      try a.encode(1, forKey: "a")
      try b.encode(2, forKey: .other)
      try a.encode(3, forKey: "c")
    },
    Encoding("the same array twice") { encoder in
      var a = encoder.unkeyedContainer()
      try a.encode(1)
      var b = encoder.unkeyedContainer()
      try b.encode(2)
      try a.encode(3)
    },
  ]

  private enum PlainKeys: CodingKey { case other }

  private static let singles: [Encoding] = [
    Encoding("an empty map") { encoder in _ = encoder.container(keyedBy: AnyKey.self) },
    Encoding("an empty array") { encoder in _ = encoder.unkeyedContainer() },
    Encoding("a value in a value in a value") { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(WrappedShape(WrappedShape(WrappedShape([1, 2]))))
    },
    Encoding("values that encode nothing within others") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(Encoding("") { _ in }, forKey: "nothing")
      try outer.encode([Encoding("") { _ in }], forKey: "list")
      try outer.encode(Encoding("") { encoder in _ = encoder.singleValueContainer() }, forKey: "single")
      try outer.encode(WrappedShape(EmptyShape()), forKey: "wrapped")
    },
    Encoding("nil everywhere") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encodeNil(forKey: "nil")
      try outer.encode(nil as Int?, forKey: "optional")
      try outer.encodeIfPresent(nil as Int?, forKey: "absent")
      try outer.encode([nil, nil] as [PlainShape?], forKey: "list")
      var list = outer.nestedUnkeyedContainer(forKey: "more")
      try list.encodeNil()
      try list.encode(Int??.some(nil))
      try list.encode(WrappedShape(nil as String?))
    },
  ]

  private static let repetitions: [Encoding] = [
    Encoding("a key twice") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(1, forKey: "a")
      try outer.encode("b", forKey: "b")
      try outer.encode([2], forKey: "a")
      try outer.encode("bb", forKey: "b")
      try outer.encode(3, forKey: "")
    },
    Encoding("a key many times") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      for index in 0..<200 { try outer.encode([index], forKey: AnyKey(stringValue: "\(index % 30)")) }
    },
    Encoding("a nested container twice") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var a = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
      try a.encode(1, forKey: "one")
      var other = outer.nestedUnkeyedContainer(forKey: "other")
      var b = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
      try b.encode(2, forKey: "two")
      try other.encode(1)
      try a.encode(3, forKey: "three")
      var again = outer.nestedUnkeyedContainer(forKey: "other")
      try again.encode(2)
    },
    Encoding("an array, and a nested container that goes on with it") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode([1, 2], forKey: "a")
      var list = outer.nestedUnkeyedContainer(forKey: "a")
      #expect(list.count == 2)
      try list.encode(3)
      try outer.encode("b", forKey: "b")
      var again = outer.nestedUnkeyedContainer(forKey: "a")
      var row = again.nestedUnkeyedContainer()
      try row.encode(4)
    },
    Encoding("maps, and nested containers that go on with them, at any depth") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(["in": ["x": 1, "y": 2], "other": ["z": 3]], forKey: "m")
      var map = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "m")
      var inner = map.nestedContainer(keyedBy: AnyKey.self, forKey: "in")
      try inner.encode(22, forKey: "y")
      try inner.encode(4, forKey: "")
      try map.encode([Int](), forKey: "list")
      var list = map.nestedUnkeyedContainer(forKey: "list")
      try list.encode(PlainShape())
    },
    Encoding("the last of several values goes on") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode("text", forKey: "a")
      try outer.encode([1], forKey: "a")
      var list = outer.nestedUnkeyedContainer(forKey: "a")
      try list.encode(2)
    },
    Encoding("many values that go on, in any order") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      let keys = (0..<200).map { AnyKey(stringValue: "\(($0 * 7919) % 200)") }
      for key in keys { try outer.encode([0], forKey: key) }
      for key in keys.reversed() {
        var list = outer.nestedUnkeyedContainer(forKey: key)
        try list.encode(key.stringValue)
      }
      for key in keys {
        var list = outer.nestedUnkeyedContainer(forKey: key)
        try list.encode(1)
      }
    },
    Encoding("an encoder for a superclass in place of a value") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(1, forKey: "super")
      try PlainShape().encode(to: outer.superEncoder())
    },
    Encoding("a value in place of a nested container") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var a = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
      try a.encode(1, forKey: "one")
      try outer.encode("value", forKey: "n")
    },
  ]

  /// `JSONEncoder` traps on these.
  static let conflicts: [Encoding] = [
    Encoding("a map after a scalar") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(1, forKey: "a")
      _ = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
    },
    Encoding("an array after a date") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode(Date(timeIntervalSinceReferenceDate: 0.1), forKey: "a")
      var list = outer.nestedUnkeyedContainer(forKey: "a")
      try list.encode(1)
    },
    Encoding("a map after an array") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encode([1], forKey: "a")
      _ = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
    },
    Encoding("a nested array after a nested map") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      _ = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
      _ = outer.nestedUnkeyedContainer(forKey: "a")
    },
    Encoding("a nested map after an encoder for a superclass") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      _ = outer.superEncoder(forKey: "a")
      _ = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
    },
  ]

  // By index: the testing library would encode the values as JSON.
  @Test(arguments: conflicts.indices) func aContainerInPlaceOfAnotherValueIsAnError(_ index: Int) {
    let error = #expect(throws: EncodingError.self) { try CBOREncoder().encode(Self.conflicts[index]) }
    guard case .invalidValue(_, let context) = error else { return }
    #expect(context.codingPath.map(\.stringValue) == ["a"])
  }

  private struct Failure: Error {}

  @Test(arguments: cases) func isWhatJSONMakesOfIt(_ encoding: Encoding) throws {
    let json = try CBORTree(json: JSONEncoder().encode(encoding))
    for _ in 0..<2 {
      let bytes = [UInt8](try CBOREncoder().encode(encoding))
      let item = try CBORItem(bytes)
      #expect(CBORTree(item) == json)
      #expect(item.encoded == bytes)
    }
  }

  /// `JSONEncoder` traps here.
  @Test func anErrorThatIsCaughtLeavesNoTrace() throws {
    let bytes = try CBOREncoder().encode(
      Encoding("") { encoder in
        var outer = encoder.container(keyedBy: AnyKey.self)
        try outer.encode(1, forKey: "bb")
        try? outer.encode(
          Encoding("") { encoder in
            var map = encoder.container(keyedBy: AnyKey.self)
            try map.encode(1, forKey: "x")
            var list = map.nestedUnkeyedContainer(forKey: "list")
            try list.encode(1)
            throw Failure()
          }, forKey: "failed")
        try outer.encode(2, forKey: "a")
        var list = outer.nestedUnkeyedContainer(forKey: "list")
        try list.encode(1)
        try? list.encode(Encoding("") { _ in throw Failure() })
        try? list.encode([Encoding("") { _ in throw Failure() }])
        try list.encode(2)
        try? outer.encode(Encoding("") { _ in throw Failure() }, forKey: "list")
        var rows = outer.nestedUnkeyedContainer(forKey: "rows")
        for row in 0..<3 {
          var columns = rows.nestedUnkeyedContainer()
          try columns.encode(row)
          try? columns.encode(Encoding("") { _ in throw Failure() })
          if row == 1 { try rows.encode("between") }
          try columns.encode(row)
        }
        try? rows.encode(Encoding("") { _ in throw Failure() })
      })
    #expect(
      try CBORDiagnostic(Array(bytes).span.bytes).text
        == #"{"a": 2, "bb": 1, "list": [1, 2], "rows": [[0, 0], [1, 1], "between", [2, 2]]}"#)
  }

  @Test func aValueThatEncodesNothingIsAnErrorAtTheTop() {
    for body: @Sendable (any Encoder) -> Void in [{ _ in }, { _ = $0.singleValueContainer() }] {
      let error = #expect(throws: EncodingError.self) { try CBOREncoder().encode(Encoding("", body)) }
      guard case .invalidValue(_, let context) = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(context.codingPath.isEmpty)
      #expect(context.debugDescription.contains("did not encode any values"))
    }
  }

  @Test func manyRowsOfNestedContainersTakeLittleMemory() throws {
    let bytes = try CBOREncoder().encode(
      Encoding("") { encoder in
        var rows = encoder.unkeyedContainer()
        for row in 0..<50_000 {
          var columns = rows.nestedUnkeyedContainer()
          for column in 0..<3 { try columns.encode(row + column) }
        }
      })
    #expect(try CBORDecoder().decode([[Int]].self, from: bytes) == (0..<50_000).map { [$0, $0 + 1, $0 + 2] })
  }
}

extension Encoding: CustomTestStringConvertible {
  var testDescription: String { name }
}
