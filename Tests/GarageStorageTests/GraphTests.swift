import Foundation
import TestSupport
import Testing

@testable import GarageStorage

/// Objects in cycles and in long chains of plain properties.
@Suite struct GraphTests {
  let garage = Garage(with: [.inMemory])

  // MARK: - Cycles

  @Test(arguments: Kind.allCases)
  func aCycleOfPlainPropertiesIsAnErrorThatNamesIt(kind: Kind) throws {
    try kind.with { garage in
      let (sam, nick) = (Person("Sam"), Person("Nick"))
      sam.brother = nick
      nick.brother = sam
      defer { nick.brother = nil }
      try garage.park(sam)
      let error = failure { try garage.retrieve(Person.self, identifier: "Sam") }
      #expect(error == .cycle(path: #"Person "Sam".brother → Person "Nick".brother → Person "Sam""#))
      #expect(error?.description.contains("@Reference") == true)
      #expect(failure { try garage.retrieveAll(Person.self) }?.code == .cycle)
      // The objects can be replaced, or read as a type with references.
      try garage.park(Person("Nick"))
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother?.name == "Nick")
      try garage.park(sam)
      try garage.migrateAll(fromOldClassName: "Person", to: Friend.self)
      let found = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      #expect(found.brother?.brother === found)
    }
  }

  final class Node: Codable {
    var next: Node?
  }

  struct Holder: Codable, Identifiable {
    var id: String
    var node: Node
    var other: Node?
  }

  @Test func anAnonymousObjectThatContainsItselfIsAnError() throws {
    let node = Node()
    node.next = Node()
    node.next?.next = node
    defer { node.next = nil }
    #expect(throws: GarageError.cycle(path: "Holder \"a\".node.next.next → Node")) {
      try garage.park(Holder(id: "a", node: node))
    }
    #expect(try garage.retrieveAll(Holder.self).isEmpty)
    // The same object twice is not a cycle.
    let leaf = Node()
    try garage.park(Holder(id: "a", node: leaf, other: leaf))
    #expect(try garage.retrieve(Holder.self, identifier: "a")?.other != nil)
  }

  // MARK: - Chains

  final class Car: Mappable {
    var id: Int { number }
    var number = 0
    var next: Car?
    /// Links through a list of objects without identifiers.
    var couplings: [Coupling] = []

    convenience init(_ number: Int) {
      self.init()
      self.number = number
    }
  }

  final class Coupling: Codable {
    var car: Car?
  }

  func train(_ length: Int, coupled: Bool = false) -> [Car] {
    let cars = (0..<length).map { Car($0) }
    for index in cars.indices.dropLast() {
      if coupled {
        cars[index].couplings = [Coupling()]
        cars[index].couplings[0].car = cars[index + 1]
      } else {
        cars[index].next = cars[index + 1]
      }
    }
    return cars
  }

  /// Takes a chain apart, so that its release does not recurse. Returns its length.
  func takeApart(_ first: Car?) -> Int {
    var car = first
    var length = 0
    while let present = car {
      length += 1
      car = present.next ?? present.couplings.first?.car
      present.next = nil
      present.couplings = []
    }
    return length
  }

  /// Runs `body` on the smallest thread stack of any platform. Unoptimized frames are several times as large.
  func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
    #if DEBUG
      let size = 4 << 20
    #else
      let size = 512 << 10
    #endif
    try onThread(stack: size) { Result { try body() } }.get()
  }

  /// Parking nests nothing, and retrieval continues on further stacks.
  @Test(arguments: Kind.allCases)
  func tenThousandObjectsComeBackOnASmallStack(kind: Kind) throws {
    try onSmallStack {
      try kind.with { garage in
        let cars = train(10_000)
        try garage.park(cars[0])
        #expect(takeApart(cars[0]) == 10_000)
        #expect(takeApart(try garage.retrieve(Car.self, identifier: 0)) == 10_000)
        let all = try garage.retrieveAll(Car.self)
        #expect(all.count == 10_000)
        for car in all { car.next = nil }
        // Objects without identifiers in between do not count.
        let coupled = train(3_000, coupled: true)
        try garage.park(coupled[0])
        #expect(takeApart(coupled[0]) == 3_000)
        #expect(takeApart(try garage.retrieve(Car.self, identifier: 0)) == 3_000)
      }
    }
  }

  @Test func whatIsNestedTooDeeplyIsAnErrorOnASmallStack() throws {
    try onSmallStack {
      func chain(_ length: Int) -> Node {
        (1..<length).reduce(Node()) { node, _ in
          let first = Node()
          first.next = node
          return first
        }
      }
      try garage.park(Holder(id: "a", node: chain(126)))
      #expect(try garage.retrieve(Holder.self, identifier: "a") != nil)
      #expect(throws: GarageError.self) { try garage.park(Holder(id: "b", node: chain(300))) }
    }
  }

  @Test func aLongCycleIsStillNamed() throws {
    let cars = train(1_000)
    cars[999].next = cars[500]
    try garage.park(cars[0])
    for car in cars { car.next = nil }
    let error = try #require(failure { try garage.retrieve(Car.self, identifier: 0) })
    #expect(error.code == .cycle)
    #expect(error.message.contains(#"Car "500".next → Car "501""#))
    #expect(error.message.contains(#"Car "999".next → Car "500""#))
    // The message abbreviates a long path.
    #expect(error.message.utf8.count < 2_000)
  }

  @Test func aChainWithoutEndIsAnErrorThatNamesIt() throws {
    let cars = train(300)
    try garage.park(cars[0])
    for car in cars { car.next = nil }
    // The limit of 65,536 would take too long.
    func retrieve(longestChain: Int) throws -> Car? {
      try garage.read { view in
        let session = RetrievalSession(garage.source, view, dates: nil, longestChain: longestChain)
        return try session.root(Car.self, ObjectKey(TypeIdentity.of(Car.self), "0"))
      }
    }
    let error = failure { try retrieve(longestChain: 299) }
    #expect(error?.code == .nestedTooDeeply && error?.message.contains("299") == true)
    #expect(takeApart(try retrieve(longestChain: 300)) == 300)
  }
}
