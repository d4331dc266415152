import Foundation
import Testing

@testable import GarageStorage

@Suite struct ContainerTests {
  /// Encodes itself by a closure, and keeps the decoder's JSON.
  struct Written: Codable, Identifiable {
    var id = "a"
    var write: (any Encoder) throws -> Void = { _ in }
    init(_ write: @escaping (any Encoder) throws -> Void) { self.write = write }
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws { try write(encoder) }
  }

  static let a = NameKey("a")
  static let b = NameKey("b")

  func json(_ write: @escaping (any Encoder) throws -> Void) throws -> String? {
    let garage = Garage(with: [.inMemory])
    try garage.park(Written(write))
    #expect(try garage.retrieve(Written.self, identifier: "a") != nil)
    return try garage.content(Written.self, "a")
  }

  static let repeated: [(String, @Sendable (any Encoder) throws -> Void)] = [
    (
      #"{"a":{"a":1,"b":2}}"#,
      { encoder in
        var outer = encoder.container(keyedBy: NameKey.self)
        var first = outer.nestedContainer(keyedBy: NameKey.self, forKey: a)
        try first.encode(1, forKey: a)
        var second = outer.nestedContainer(keyedBy: NameKey.self, forKey: a)
        try second.encode(2, forKey: b)
      }
    ),
    (
      #"{"a":[1,2,3]}"#,
      { encoder in
        var outer = encoder.container(keyedBy: NameKey.self)
        var first = outer.nestedUnkeyedContainer(forKey: a)
        try first.encode(1)
        var second = outer.nestedUnkeyedContainer(forKey: a)
        try second.encode(2)
        try first.encode(3)
      }
    ),
    (
      #"{"a":1,"super":{"a":1,"b":2}}"#,
      { encoder in
        var outer = encoder.container(keyedBy: NameKey.self)
        try outer.encode(1, forKey: a)
        var first = outer.superEncoder().container(keyedBy: NameKey.self)
        try first.encode(1, forKey: a)
        var second = outer.superEncoder().container(keyedBy: NameKey.self)
        try second.encode(2, forKey: b)
      }
    ),
    (
      #"{"a":{"a":1,"b":2}}"#,
      { encoder in
        var outer = encoder.container(keyedBy: NameKey.self)
        var first = outer.superEncoder(forKey: a).container(keyedBy: NameKey.self)
        try first.encode(1, forKey: a)
        var second = outer.superEncoder(forKey: a).container(keyedBy: NameKey.self)
        try second.encode(2, forKey: b)
      }
    ),
    (
      #"{"a":1,"b":2}"#,
      { encoder in
        var first = encoder.container(keyedBy: NameKey.self)
        try first.encode(0, forKey: a)
        try first.encode(1, forKey: a)
        var second = encoder.container(keyedBy: NameKey.self)
        try second.encode(2, forKey: b)
      }
    ),
    (
      "[1,2]",
      { encoder in
        var first = encoder.unkeyedContainer()
        try first.encode(1)
        var second = encoder.unkeyedContainer()
        try second.encode(2)
      }
    ),
  ]

  @Test(arguments: repeated.indices)
  func whoAsksAgainAddsToWhatIsThere(index: Int) throws {
    let (expected, write) = Self.repeated[index]
    #expect(try json(write) == expected)
  }

  static let conflicting: [@Sendable (any Encoder) throws -> Void] = [
    { encoder in
      var outer = encoder.container(keyedBy: NameKey.self)
      var first = outer.nestedContainer(keyedBy: NameKey.self, forKey: a)
      try first.encode(1, forKey: a)
      var second = outer.nestedUnkeyedContainer(forKey: a)
      try second.encode(2)
    },
    { encoder in
      var outer = encoder.container(keyedBy: NameKey.self)
      try outer.encode(1, forKey: a)
      _ = outer.nestedUnkeyedContainer(forKey: a)
    },
    { encoder in
      var first = encoder.container(keyedBy: NameKey.self)
      try first.encode(1, forKey: a)
      var second = encoder.singleValueContainer()
      try second.encode("lost")
    },
    { encoder in
      var first = encoder.singleValueContainer()
      try first.encode(1)
      try first.encode(["2"])
    },
    { encoder in
      _ = encoder.unkeyedContainer()
      _ = encoder.container(keyedBy: NameKey.self)
    },
  ]

  @Test(arguments: conflicting.indices)
  func whatWouldLoseSomethingIsAnError(index: Int) throws {
    let garage = Garage(with: [.inMemory])
    let error = #expect(throws: GarageError.self) { try garage.park(Written(Self.conflicting[index])) }
    #expect(error?.code == .unencodable)
    #expect(try garage.content(Written.self, "a") == nil)
  }

  static func nest(_ depth: Int, in encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    var inner: [any UnkeyedEncodingContainer] = []
    for _ in 1..<depth {
      let next = container.nestedUnkeyedContainer()
      inner.append(container)
      container = next
    }
    try container.encode(1)
  }

  @Test(arguments: [1, 100, 508, 509, 510, 511, 512, 513, 600, 5_000])
  func containersThatCanBeWrittenCanBeRead(depth: Int) throws {
    let garage = Garage(with: [.inMemory])
    let written = Written { try Self.nest(depth, in: $0) }
    if depth <= EncodingSlot.deepest {
      try garage.park(written)
      #expect(try garage.retrieve(Written.self, identifier: "a") != nil)
    } else {
      let error = #expect(throws: GarageError.self) { try garage.park(written) }
      #expect(error?.code == .nestedTooDeeply)
    }
  }

  @Test func whatStandsInTheDeepestPlaceCanBeRead() throws {
    let garage = Garage(with: [.inMemory])
    for value in 0..<3 {
      try garage.park(
        Written { encoder in
          var container = encoder.unkeyedContainer()
          for _ in 1..<EncodingSlot.deepest { container = container.nestedUnkeyedContainer() }
          switch value {
          case 0: try container.encode(Pet(1))
          case 1: try container.encode(Set([Pet(1).name]))
          default: try container.encode(Set([Person("Sam").id, "x"]))
          }
        })
      #expect(try garage.retrieve(Written.self, identifier: "a") != nil)
    }
  }

  // MARK: - Optionals that point to nothing

  struct Box<Value: Codable>: Codable, Identifiable {
    var id = "box"
    var value: Value
  }

  @Test(arguments: Kind.allCases)
  func anOptionalOfADeletedObjectIsNil(kind: Kind) throws {
    try kind.with { garage in
      func check<Value: Codable>(_ value: Value, _ isRight: (Value) -> Bool) throws {
        try garage.parkAll([Pet(1), Pet(2)])
        try garage.park(Box(value: value))
        try garage.delete(Pet(1))
        let box = try #require(try garage.retrieve(Box<Value>.self, identifier: "box"))
        #expect(isRight(box.value))
      }
      try check(Optional(Pet(1))) { $0 == nil }
      try check(Optional(Optional(Pet(1)))) { $0 == nil || $0! == nil }
      try check([Optional(Pet(1)), Pet(2), nil]) { $0.map { $0?.number } == [nil, 2, nil] }
      try check(["a": Optional(Pet(1)), "b": Pet(2)]) { $0["a"]! == nil && $0["b"]!?.number == 2 }
      try check(Optional(Person("Sam"))) { $0?.name == "Sam" }
      try garage.park(Box(value: Migratable(wrappedValue: Pet(1))))
      try garage.delete(Pet(1))
      #expect(try garage.retrieve(Box<Migratable<Pet>>.self, identifier: "box")?.value.wrappedValue == nil)
      try garage.park(Box(value: [Pet(1)]))
      try garage.delete(Pet(1))
      let error = failure { try garage.retrieve(Box<[Pet]>.self, identifier: "box") }
      #expect(error?.code == .missingReference)
    }
  }
}
