import Foundation
import Synchronization
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct ReferenceTests {
  func park(in garage: Garage) throws {
    let (sam, nick, emily) = (Friend("Sam"), Friend("Nick"), Friend("Emily"))
    sam.brother = nick
    nick.brother = sam
    for friend in [sam, nick, emily] { friend.siblings = [sam, nick, emily].filter { $0 !== friend } }
    try garage.park(sam)
    for friend in [sam, nick, emily] {
      friend.brother = nil
      friend.siblings = []
    }
  }

  @Test(arguments: Kind.allCases)
  func identityIsKeptAroundACycle(kind: Kind) throws {
    try kind.with { garage in
      try park(in: garage)
      #expect(try garage.retrieveAll(Friend.self).count == 3)
      let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      let nick = try #require(sam.brother)
      #expect(nick.name == "Nick")
      #expect(nick.brother === sam)
      #expect(sam.siblings.map(\.name) == ["Nick", "Emily"])
      #expect(sam.siblings[0] === nick)
      #expect(sam.siblings[1].siblings[0] === sam)
      #expect(sam.siblings[1].siblings[1] === nick)
      let other = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      #expect(other !== sam && other.brother !== nick)
    }
  }

  @Test func nothingIsReadBeforeItIsAskedFor() throws {
    try Kind.durable.with { garage in
      try park(in: garage)
      let store = try garage.lmdb
      let before = store.recordsRead.load(ordering: .relaxed)
      let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      #expect(store.recordsRead.load(ordering: .relaxed) - before == 1)
      #expect(!sam.$brother.isLoaded)
      #expect(sam.$brother.identifiers == ["Nick"])
      #expect(sam.$siblings.identifiers == ["Nick", "Emily"])
      #expect(sam.$brother == sam.$brother)
      _ = sam.brother
      #expect(sam.$brother.isLoaded)
      #expect(store.recordsRead.load(ordering: .relaxed) - before == 2)
      _ = sam.siblings[0]
      #expect(store.recordsRead.load(ordering: .relaxed) - before == 3)
    }
  }

  @Test func longChainsAreParkedAndFollowed() throws {
    try Kind.inMemory.with { garage in
      let friends = (0..<20_000).map { Friend("\($0)") }
      for index in 1..<friends.count { friends[index - 1].brother = friends[index] }
      defer { for friend in friends { friend.brother = nil } }
      try garage.park(friends[0])
      var friend = try garage.retrieve(Friend.self, identifier: 0)
      var kept: [Friend] = []
      while let next = friend {
        kept.append(next)
        friend = next.brother
      }
      #expect(kept.count == friends.count)
      for friend in kept { friend.brother = nil }
    }
  }

  @Test func aFailureIsObservableAndLosesNothing() throws {
    let directory = GarageDirectory()
    let garage = directory.garage()
    try park(in: garage)
    try garage.delete(Friend("Nick"))
    let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
    #expect(sam.$brother.failure == nil)
    #expect(sam.brother == nil)
    #expect(sam.$brother.failure as? GarageError == .failedToRetrieveObject("Friend \"Nick\""))
    #expect(throws: GarageError.failedToRetrieveObject("Friend \"Nick\"")) { try sam.$brother.resolve() }
    #expect(sam.siblings.map(\.name) == ["Emily"])

    // The reference survives parking and resolves once its target is back.
    try garage.park(sam)
    try garage.park(Friend("Nick"))
    #expect(try garage.retrieve(Friend.self, identifier: "Sam")?.brother?.name == "Nick")
    #expect(sam.brother?.name == "Nick")
    #expect(sam.$brother.failure == nil)
  }

  @Test func addingToAnArrayKeepsWhatIsOutOfReach() throws {
    let directory = GarageDirectory()
    let garage = directory.garage()
    try park(in: garage)
    let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
    try garage.put("no JSON", type: Friend.self, "Emily")
    #expect(sam.siblings.map(\.name) == ["Nick"])
    #expect((sam.$siblings.failure as? GarageError)?.code == .damaged)
    sam.siblings.append(Friend("Zoe"))
    #expect(sam.$siblings.identifiers == ["Nick", "Zoe", "Emily"])
    sam.$siblings.removeAll()
    #expect(sam.$siblings.identifiers.isEmpty)
    let nick = try #require(try garage.retrieve(Friend.self, identifier: "Nick"))
    try garage.delete(Friend("Emily"))
    nick.siblings.append(Friend("Zoe"))
    #expect(nick.$siblings.identifiers == ["Sam", "Zoe"])
  }

  @Test func itHoldsItsObjectUntilItIsUnloaded() throws {
    try Kind.inMemory.with { garage in
      try park(in: garage)
      let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      weak var nick = sam.brother
      #expect(nick != nil)
      sam.$brother.unload()
      #expect(nick == nil)
      #expect(sam.brother?.name == "Nick")
      nick = sam.brother
      nick?.$brother.unload()
      nick?.$siblings.unload()
    }
  }

  final class Leaf: Codable, Identifiable {
    /// The first initializer signals one, and waits for the other.
    static let isReached = DispatchSemaphore(value: 0)
    static let isOpen = DispatchSemaphore(value: 0)
    static let isFirst = Guarded(true)

    let id: String

    private enum CodingKeys: CodingKey { case id }

    init(_ id: String) { self.id = id }

    init(from decoder: any Decoder) throws {
      id = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .id)
      guard Self.isFirst({ $0 }) else { return }
      Self.isFirst { $0 = false }
      Self.isReached.signal()
      _ = Self.isOpen.wait(timeout: .now() + .seconds(60))
    }
  }

  final class Twig: Codable, Identifiable {
    let id: String
    let one: Leaf
    let other: Leaf

    init(_ id: String, _ leaf: Leaf) {
      self.id = id
      one = leaf
      other = leaf
    }
  }

  final class Tree: Mappable {
    var id = "tree"
    @Reference var leaf: Leaf?
    @Reference var twig: Twig?
  }

  // @unchecked: read only.
  struct Shared: @unchecked Sendable { let tree: Tree }

  @Test func twoThreadsThatMakeAnObjectGetOneInstance() throws {
    let garage = Garage(with: [.inMemory])
    let tree = Tree()
    let parked = Leaf("leaf")
    tree.leaf = parked
    tree.twig = Twig("twig", parked)
    try garage.park(tree)
    let shared = Shared(tree: try #require(try garage.retrieve(Tree.self, identifier: "tree")))
    concurrently(2) { thread in
      if thread == 0 {
        // Decodes the leaf while the other thread asks for it.
        _ = shared.tree.twig
      } else {
        _ = Leaf.isReached.wait(timeout: .now() + .seconds(60))
        _ = shared.tree.leaf
        Leaf.isOpen.signal()
      }
    }
    let leaf = try #require(shared.tree.leaf)
    let twig = try #require(shared.tree.twig)
    #expect(twig.one === leaf && twig.other === leaf)
  }

  @Test func anUnreadReferenceLeavesTheObjectAsItIs() throws {
    try Kind.inMemory.with { garage in
      try park(in: garage)
      let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      let nick = Friend("Nick")
      nick.age = 50
      try garage.park(nick)
      sam.age = 3
      try garage.park(sam)
      #expect(try garage.retrieve(Friend.self, identifier: "Nick")?.age == 50)
      // A resolved reference is parked with its owner.
      let again = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      again.brother?.age = 51
      try garage.park(again)
      #expect(try garage.retrieve(Friend.self, identifier: "Nick")?.age == 51)
    }
  }

  @Test func aReferenceGoesToAnotherGarageWithItsObject() throws {
    let other = Garage(with: [.inMemory])
    try Kind.inMemory.with { garage in
      try park(in: garage)
      let sam = try #require(try garage.retrieve(Friend.self, identifier: "Sam"))
      try other.park(sam)
      #expect(try other.retrieveAll(Friend.self).map(\.name) == ["Emily", "Nick", "Sam"])
    }
  }

  @Test func otherEncodersWriteIdentifiersAndOthersDecodersReadObjects() throws {
    let sam = Friend("Sam")
    sam.brother = Friend("Nick")
    sam.brother?.brother = sam
    defer { sam.brother = nil }
    let json = String(decoding: try JSONEncoder().encode(sam), as: UTF8.self)
    #expect(json.contains(#""brother":"Nick""#))
    let text = #"{"name":"Sam","age":1,"brother":{"name":"Nick","age":2},"siblings":[{"name":"Zoe","age":3}]}"#
    let read = try JSONDecoder().decode(Friend.self, from: Data(text.utf8))
    #expect(read.brother?.name == "Nick" && read.siblings[0].age == 3)
  }
}
