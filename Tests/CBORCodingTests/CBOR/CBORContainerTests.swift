import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Random calls of containers. Several are open at a time, and values come between. `JSONEncoder` traps on calls that
/// it cannot combine, so the number of a key fixes the kind of its values.
struct RandomCalls: Encodable {
  let seed: UInt64
  /// The most calls, and the number of keys.
  let size: Int
  var isNested = false

  private final class Open {
    var maps: [(container: KeyedEncodingContainer<AnyKey>, path: String)] = []
    var lists: [any UnkeyedEncodingContainer] = []
    /// The paths of nested containers, which no value may replace.
    var nested: Set<String> = []
    var uniqueNames = 0

    func uniqueName() -> String {
      uniqueNames += 1
      return "unique \(uniqueNames)"
    }
  }

  func encode(to encoder: any Encoder) throws {
    var random = SeededRandom(seed)
    let open = Open()
    switch random.below(isNested ? 4 : 2) {
    case 0:
      // An encoder gives the same map to every caller.
      for _ in 0...random.below(2) { open.maps.append((encoder.container(keyedBy: AnyKey.self), "")) }
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
    let number = random.below(size)
    let key = AnyKey(stringValue: "\(number)" + String(repeating: "k", count: random.below(3)))
    let path = open.maps[place].path + "/" + key.stringValue
    let isValue = random.below(2) == 0 && !open.nested.contains(path)
    switch number % 5 {
    case 0 where isValue: try map.encode(["0": ["4": place]], forKey: key)
    case 1 where isValue: try map.encode([place], forKey: key)
    case 0:
      open.nested.insert(path)
      open.maps.append((map.nestedContainer(keyedBy: AnyKey.self, forKey: key), path))
    case 1:
      open.nested.insert(path)
      open.lists.append(map.nestedUnkeyedContainer(forKey: key))
    case 2: try nested(&random).encode(to: map.superEncoder(forKey: AnyKey(stringValue: open.uniqueName())))
    case 3: try map.encode(nested(&random), forKey: key)
    default: try map.encode(CBORItem.random(&random), forKey: key)
    }
  }

  private func callList(_ place: Int, _ open: Open, _ random: inout SeededRandom) throws {
    switch random.below(8) {
    case 0: open.maps.append((open.lists[place].nestedContainer(keyedBy: AnyKey.self), open.uniqueName()))
    case 1: open.lists.append(open.lists[place].nestedUnkeyedContainer())
    case 2: try nested(&random).encode(to: open.lists[place].superEncoder())
    case 3: try open.lists[place].encode([nested(&random)])
    case 4: try open.lists[place].encode(nested(&random))
    default: try open.lists[place].encode(CBORItem.random(&random))
    }
  }
}

/// Containers in every interleaving match the result of `JSONEncoder` for the same calls.
@Suite struct CBORContainerTests {
  static let cases: [Encoding] = [
    Encoding("encoders for a superclass, alternately") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var a = outer.superEncoder().container(keyedBy: AnyKey.self)
      var b = outer.superEncoder(forKey: "second").unkeyedContainer()
      try a.encode(1, forKey: "one")
      try b.encode(2)
      try outer.encode(3, forKey: "three")
      try a.encode(4, forKey: "four")
      try b.encode(5)
    },
    Encoding("a value over a nested container, and an encoder for a superclass over a value") { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var nested = outer.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
      try nested.encode(1, forKey: "one")
      try outer.encode("value", forKey: "n")
      try outer.encode(1, forKey: "super")
      try PlainShape().encode(to: outer.superEncoder())
    },
  ]

  typealias Call = @Sendable (inout KeyedEncodingContainer<AnyKey>) throws -> Void

  /// A value for the key "a", and a container over it. `JSONEncoder` traps on these.
  static let conflicts: [(Call, Call)] = [
    ({ try $0.encode(1, forKey: "a") }, { _ = $0.nestedContainer(keyedBy: AnyKey.self, forKey: "a") }),
    ({ try $0.encode(Date.distantPast, forKey: "a") }, { _ = $0.nestedUnkeyedContainer(forKey: "a") }),
    (
      { _ = $0.nestedContainer(keyedBy: AnyKey.self, forKey: "a") }, { _ = $0.nestedUnkeyedContainer(forKey: "a") }
    ),
    ({ _ = $0.superEncoder(forKey: "a") }, { _ = $0.nestedContainer(keyedBy: AnyKey.self, forKey: "a") }),
  ]

  @Test(arguments: conflicts.indices) func aContainerInPlaceOfAnotherValueIsAnError(_ index: Int) {
    let (first, second) = Self.conflicts[index]
    let conflict = Encoding("") { encoder in
      var map = encoder.container(keyedBy: AnyKey.self)
      try first(&map)
      try second(&map)
    }
    #expect(CBORErrorTests.encodingError(of: conflict).path == ["a"])
  }

  private struct Failure: Error {}

  private func compareWithJSON(_ value: some Encodable, _ comment: Comment) throws {
    let json = try CBORItem(json: JSONEncoder().encode(value))
    let bytes = try CBOREncoder().encode(value)
    let item = try CBORItem(Array(bytes))
    #expect(item.asInJSON == json && item.encoded == Array(bytes), comment)
    #expect(try CBOREncoder().encode(value) == bytes, comment)
    for bytes in [item.encoded, item.indefinite] {
      #expect(try CBORDecoder().decode(CBORItem.self, from: Data(bytes)) == json, comment)
    }
    #expect(try JSONDecoder().decode([CBORItem].self, from: JSONEncoder().encode([value])) == [json], comment)
  }

  @Test func containersAreWhatJSONMakesOfThem() throws {
    for encoding in Self.cases { try compareWithJSON(encoding, "\(encoding.name)") }
    for seed in 0..<200 {
      let calls = RandomCalls(seed: UInt64(seed), size: [6, 24, 200][seed % 3])
      try compareWithJSON(calls, "seed \(seed)")
    }
  }

  /// `JSONEncoder` traps here.
  @Test func anErrorThatIsCaughtLeavesNoTrace() throws {
    let failing = Encoding("") { encoder in
      var map = encoder.container(keyedBy: AnyKey.self)
      try map.encode(1, forKey: "x")
      var list = map.nestedUnkeyedContainer(forKey: "list")
      try list.encode(1)
      throw Failure()
    }
    let bytes = try CBOREncoder().encode(
      Encoding("") { encoder in
        var outer = encoder.container(keyedBy: AnyKey.self)
        try outer.encode(1, forKey: "bb")
        try? outer.encode(failing, forKey: "failed")
        try outer.encode(2, forKey: "a")
        var rows = outer.nestedUnkeyedContainer(forKey: "rows")
        for row in 0..<3 {
          var columns = rows.nestedUnkeyedContainer()
          try columns.encode(row)
          try? columns.encode(failing)
          try? columns.encode([failing])
          if row == 1 { try rows.encode("between") }
          try columns.encode(row)
        }
        try? rows.encode(failing)
        try? outer.encode(failing, forKey: "rows")
      })
    #expect(
      try CBORDiagnostic(Array(bytes).span.bytes).text
        == #"{"a": 2, "bb": 1, "rows": [[0, 0], [1, 1], "between", [2, 2]]}"#)
  }

  @Test func aValueThatEncodesNothingIsAnErrorAtTheTop() {
    for body: @Sendable (any Encoder) -> Void in [{ _ in }, { _ = $0.singleValueContainer() }] {
      let error = CBORErrorTests.encodingError(of: Encoding("", body))
      #expect(error.path.isEmpty && error.text.contains("did not encode any values"))
    }
  }
}
