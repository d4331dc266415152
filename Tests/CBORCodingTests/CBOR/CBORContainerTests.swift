import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Random calls of containers. Several are open at a time, and values come between. `JSONEncoder` traps on calls that
/// it cannot combine, so a key keeps its kind.
private struct RandomCalls: Encodable {
  let seed: UInt64
  /// The most calls, and the number of keys.
  let size: Int
  var isNested = false

  private enum Kind { case value, mapValue, listValue, openMap, openList, parent }

  /// The kinds of a map's values decide which calls may follow.
  private final class Keys {
    var kinds: [String: Kind] = [:]
    var children: [String: Keys] = [:]

    func child(_ key: String) -> Keys {
      let child = children[key] ?? Keys()
      children[key] = child
      return child
    }
  }

  private final class Open {
    var maps: [(container: KeyedEncodingContainer<AnyKey>, keys: Keys)] = []
    var lists: [any UnkeyedEncodingContainer] = []
  }

  func encode(to encoder: any Encoder) throws {
    var random = SeededRandom(seed)
    let open = Open()
    switch random.below(isNested ? 4 : 2) {
    case 0:
      // An encoder gives the same map to every caller.
      let keys = Keys()
      for _ in 0...random.below(2) { open.maps.append((encoder.container(keyedBy: AnyKey.self), keys)) }
    case 1: for _ in 0...random.below(2) { open.lists.append(encoder.unkeyedContainer()) }
    case 2:
      var single = encoder.singleValueContainer()
      try single.encode(WrappedShape(WrappedShape([random.below(10)])))
      return
    default: return
    }
    for _ in 0..<random.below(size) {
      let place = random.below(open.maps.count + open.lists.count)
      if place < open.maps.count {
        try callMap(place, open, &random)
      } else {
        try callList(place - open.maps.count, open, &random)
      }
    }
  }

  private func nested(_ random: inout SeededRandom) -> RandomCalls {
    RandomCalls(seed: random.next(), size: isNested ? 3 : 12, isNested: true)
  }

  private func callMap(_ place: Int, _ open: Open, _ random: inout SeededRandom) throws {
    var map = open.maps[place].container
    let keys = open.maps[place].keys
    let name = String(repeating: "k", count: random.below(3)) + "\(random.below(size))"
    let (key, kind) = (AnyKey(stringValue: name), keys.kinds[name])
    let call = random.below(9)
    switch (call, kind) {
    case (0, nil), (0, .mapValue), (0, .openMap):
      open.maps.append((map.nestedContainer(keyedBy: AnyKey.self, forKey: key), keys.child(name)))
      keys.kinds[name] = .openMap
    case (1, nil), (1, .listValue), (1, .openList):
      open.lists.append(map.nestedUnkeyedContainer(forKey: key))
      keys.kinds[name] = .openList
    case (2, nil):
      try nested(&random).encode(to: map.superEncoder(forKey: key))
      keys.kinds[name] = .parent
    case (_, .openMap), (_, .openList), (_, .parent): break
    case (3, _):
      try map.encode([call, place], forKey: key)
      keys.kinds[name] = .listValue
    case (4, _):
      try map.encode(["1": ["2": place]], forKey: key)
      let child = Keys()
      child.kinds["1"] = .mapValue
      child.child("1").kinds["2"] = .value
      keys.children[name] = child
      keys.kinds[name] = .mapValue
    case (5, _):
      try map.encode(nested(&random), forKey: key)
      keys.kinds[name] = .value
    case (6, _):
      try map.encodeNil(forKey: key)
      keys.kinds[name] = .value
    default:
      try map.encode("\(place)", forKey: key)
      keys.kinds[name] = .value
    }
  }

  private func callList(_ place: Int, _ open: Open, _ random: inout SeededRandom) throws {
    switch random.below(8) {
    case 0:
      open.maps.append((open.lists[place].nestedContainer(keyedBy: AnyKey.self), Keys()))
    case 1: open.lists.append(open.lists[place].nestedUnkeyedContainer())
    case 2: try nested(&random).encode(to: open.lists[place].superEncoder())
    case 3: try open.lists[place].encode([nested(&random)])
    case 4: try open.lists[place].encode(nested(&random))
    case 5: try open.lists[place].encodeNil()
    default: try open.lists[place].encode(place)
    }
  }
}

/// Containers in every interleaving match the result of `JSONEncoder` for the same calls.
@Suite struct CBORContainerTests {
  static let cases: [Encoding] = [
    Encoding("encoders for a superclass, alternately") { encoder in
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
    Encoding("two key types") { encoder in
      var a = encoder.container(keyedBy: AnyKey.self)
      var b = encoder.container(keyedBy: PlainKeys.self)
      try a.encode(1, forKey: "a")
      try b.encode(2, forKey: .other)
      try a.encode(3, forKey: "c")
    },
    Encoding("containers of more than 23, 255 and 65535 entries") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      for count in [23, 24, 255, 256, 65_536] {
        try outer.encode(Array(repeating: PayloadShape.none, count: count), forKey: AnyKey(stringValue: "a\(count)"))
        let entries = (0..<count).map { ("\($0)", [$0]) }
        try outer.encode(Dictionary(uniqueKeysWithValues: entries), forKey: AnyKey(stringValue: "m\(count)"))
      }
    },
    Encoding("nil everywhere") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      try outer.encodeNil(forKey: "nil")
      try outer.encode(nil as Int?, forKey: "optional")
      try outer.encodeIfPresent(nil as Int?, forKey: "absent")
      try outer.encode([nil, nil] as [PlainShape?], forKey: "list")
      var list = outer.nestedUnkeyedContainer(forKey: "more")
      try list.encode(Int??.some(nil))
      try list.encode(WrappedShape(nil as String?))
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

  private enum PlainKeys: CodingKey { case other }

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

  private func compareWithJSON(_ value: some Encodable, _ comment: Comment) throws {
    let json = try CBORTree(json: JSONEncoder().encode(value))
    for _ in 0..<2 {
      let bytes = try CBOREncoder().encode(value)
      let item = try CBORItem(Array(bytes))
      #expect(CBORTree(item) == json, comment)
      #expect(item.encoded == Array(bytes), comment)
    }
  }

  @Test(arguments: cases) func isWhatJSONMakesOfIt(_ encoding: Encoding) throws {
    try compareWithJSON(encoding, "\(encoding.name)")
  }

  @Test func randomCallsAreWhatJSONMakesOfThem() throws {
    for seed in 0..<400 {
      let calls = RandomCalls(seed: UInt64(seed), size: [6, 24, 200][seed % 3])
      try compareWithJSON(calls, "seed \(seed)")
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
}

extension Encoding: CustomTestStringConvertible {
  var testDescription: String { name }
}
