import Foundation
import TestSupport
import Testing

@testable import GarageStorage

/// Objects that form long chains through plain properties.
@Suite struct ChainTests {
  final class Car: Mappable {
    var id: Int { number }
    var number = 0
    var next: Car?
    /// Links through a list of objects without identifiers.
    var couplings: [Coupling] = []
  }

  final class Coupling: Codable {
    var car: Car?
  }

  func train(_ length: Int, coupled: Bool = false) -> [Car] {
    let cars = (0..<length).map { number in
      let car = Car()
      car.number = number
      return car
    }
    for index in cars.indices.dropLast() {
      if coupled {
        let coupling = Coupling()
        coupling.car = cars[index + 1]
        cars[index].couplings = [coupling]
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

  /// The smallest thread stack of any platform, for a release build; unoptimized frames are several times as large.
  static let smallStack: Int = {
    #if DEBUG
      return 4 << 20
    #else
      return 512 << 10
    #endif
  }()

  /// Parking nests nothing, and retrieval continues on further stacks.
  @Test(arguments: Kind.allCases)
  func tenThousandObjectsComeBackOnASmallStack(kind: Kind) throws {
    try onThread(stack: Self.smallStack) {
      Result {
        try kind.with { garage in
          let cars = train(10_000)
          try garage.park(cars[0])
          #expect(takeApart(cars[0]) == 10_000)
          #expect(takeApart(try garage.retrieve(Car.self, identifier: 0)) == 10_000)
          let all = try garage.retrieveAll(Car.self)
          #expect(all.count == 10_000)
          for car in all { car.next = nil }
        }
      }
    }.get()
  }

  @Test func whatIsNestedTooDeeplyIsAnErrorOnASmallStack() throws {
    try onThread(stack: Self.smallStack) {
      Result {
        try Kind.inMemory.with { garage in
          func chain(_ length: Int) -> GraphTests.Node {
            (1..<length).reduce(GraphTests.Node()) { node, _ in
              let first = GraphTests.Node()
              first.next = node
              return first
            }
          }
          try garage.park(GraphTests.Holder(id: "a", node: chain(126)))
          #expect(try garage.retrieve(GraphTests.Holder.self, identifier: "a") != nil)
          #expect(throws: GarageError.self) { try garage.park(GraphTests.Holder(id: "b", node: chain(300))) }
        }
      }
    }.get()
  }

  @Test func objectsWithoutIdentifiersInBetweenDoNotCount() throws {
    let garage = Garage(with: [.inMemory])
    let cars = train(3_000, coupled: true)
    try garage.park(cars[0])
    #expect(takeApart(cars[0]) == 3_000)
    #expect(takeApart(try garage.retrieve(Car.self, identifier: 0)) == 3_000)
  }

  @Test func mappedObjectsComeBackToo() throws {
    let garage = Garage(with: [.inMemory])
    let humans = (0..<3_000).map { number in
      let human = MappedObjectTests.Human()
      human.ssn = "\(number)"
      return human
    }
    for index in humans.indices.dropLast() { humans[index].friends = [humans[index + 1]] }
    try garage.parkObject(humans[0])
    for human in humans { human.friends = [] }
    var human = try garage.retrieveObject(MappedObjectTests.Human.self, identifier: "0")
    var length = 0
    while let present = human {
      length += 1
      human = present.friends.first
      present.friends = []
    }
    #expect(length == 3_000)
  }

  @Test func aLongCycleIsStillNamed() throws {
    let garage = Garage(with: [.inMemory])
    let cars = train(1_000)
    cars[999].next = cars[500]
    try garage.park(cars[0])
    for car in cars { car.next = nil }
    let error = #expect(throws: GarageError.self) { try garage.retrieve(Car.self, identifier: 0) }
    #expect(error?.code == .cycle)
    #expect(error?.message.contains(#"Car "500".next → Car "501""#) == true)
    #expect(error?.message.contains(#"Car "999".next → Car "500""#) == true)
    // The message abbreviates a long path.
    #expect((error?.message.utf8.count ?? 0) < 2_000)
  }

  @Test func aChainWithoutEndIsAnErrorThatNamesIt() throws {
    let garage = Garage(with: [.inMemory])
    let cars = train(300)
    try garage.park(cars[0])
    for car in cars { car.next = nil }
    func retrieve(longestChain: Int) throws -> Car? {
      try garage.read { view in
        let session = RetrievalSession(garage.source, view, dates: nil, longestChain: longestChain)
        return try session.root(Car.self, ObjectKey(TypeIdentity.of(Car.self), "0"))
      }
    }
    let error = #expect(throws: GarageError.self) { try retrieve(longestChain: 299) }
    #expect(error?.code == .nestedTooDeeply && error?.message.contains("299") == true)
    #expect(takeApart(try retrieve(longestChain: 300)) == 300)
  }
}
