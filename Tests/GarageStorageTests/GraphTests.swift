import Foundation
@testable import GarageStorage
import TestSupport
import Testing

@Suite struct GraphTests {
  /// Sam and Nick, each the other's brother and sibling.
  func brothers() -> (Person, Person) {
    let sam = makeSam()
    let nick = sam.brother!
    nick.brother = sam
    nick.siblings = [sam, sam.siblings[1]]
    return (sam, nick)
  }

  @Test(arguments: Kind.allCases)
  func aCycleOfPlainPropertiesIsAnErrorThatNamesIt(kind: Kind) throws {
    try kind.with { garage in
      let (sam, nick) = brothers()
      nick.siblings = []
      sam.siblings = []
      try garage.park(sam)
      let error = #expect(throws: GarageError.self) { try garage.retrieve(Person.self, identifier: "Sam") }
      #expect(error == .cycle(path: #"Person "Sam".brother → Person "Nick".brother → Person "Sam""#))
      #expect(error?.description.contains("@Reference") == true)
      #expect(throws: GarageError.self) { try garage.retrieveAll(Person.self) }
      // The type can still be retrieved in another form, and the objects can be replaced.
      nick.brother = nil
      try garage.park(nick)
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother?.name == "Nick")
    }
  }

  @Test func whatWasParkedInACycleIsReadWithReferences() throws {
    try Kind.inMemory.with { garage in
      let (sam, _) = brothers()
      try garage.park(sam)
      try garage.migrateAll(fromOldClassName: "Person", to: Friend.self)
      let found = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      #expect(found.brother?.brother === found)
      #expect(found.siblings[0] === found.brother)
    }
  }

  final class Node: Codable {
    var next: Node?
  }

  struct Holder: Codable, Identifiable {
    var id: String
    var node: Node
  }

  @Test func anAnonymousObjectThatContainsItselfIsAnError() throws {
    try Kind.inMemory.with { garage in
      let node = Node()
      node.next = Node()
      node.next?.next = node
      defer { node.next = nil }
      #expect(throws: GarageError.cycle(path: "Holder \"a\".node.next.next → Node")) {
        try garage.park(Holder(id: "a", node: node))
      }
      #expect(try garage.retrieveAll(Holder.self).isEmpty)
      // The same object twice is not a cycle.
      struct Two: Codable, Identifiable {
        var id: String
        var one: Node
        var other: Node
      }
      let leaf = Node()
      try garage.park(Two(id: "a", one: leaf, other: leaf))
      #expect(try garage.retrieve(Two.self, identifier: "a") != nil)
    }
  }

  /// A struct with an identifier and an anonymous object contain endless copies of each other.
  @Test func copiesWithoutEndAreParkedInFiniteSteps() throws {
    final class Box: Codable {
      var nodes: [Ring] = []
    }
    struct Ring: Codable, Identifiable {
      var id: String
      var box: Box
    }
    try Kind.inMemory.with { garage in
      let box = Box()
      let ring = Ring(id: "a", box: box)
      box.nodes = [ring]
      defer { box.nodes = [] }
      try garage.park(ring)
      #expect(throws: GarageError.self) { try garage.retrieve(Ring.self, identifier: "a") }
    }
  }
}
