import Foundation
import Testing

@testable import GarageStorage

@Suite struct ReferenceTests {
  let garage = Garage(with: [.inMemory])

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

  func sam(in garage: Garage) throws -> Friend { try #require(try garage.retrieve(Friend.self, identifier: "Sam")) }

  @Test(arguments: Kind.allCases)
  func identityIsKeptAroundACycle(kind: Kind) throws {
    try kind.with { garage in
      try park(in: garage)
      #expect(try garage.retrieveAll(Friend.self).count == 3)
      let sam = try sam(in: garage)
      let nick = try #require(sam.brother)
      #expect(nick.name == "Nick" && nick.brother === sam)
      #expect(sam.siblings.map(\.name) == ["Nick", "Emily"] && sam.siblings[0] === nick)
      #expect(sam.siblings[1].siblings[0] === sam && sam.siblings[1].siblings[1] === nick)
      let other = try self.sam(in: garage)
      #expect(other !== sam && other.brother !== nick)
    }
  }

  @Test func nothingIsReadBeforeItIsAskedFor() throws {
    try Kind.durable.with { garage in
      try park(in: garage)
      #expect(try garage.reads { _ = try self.sam(in: garage) } == 1)
      let sam = try self.sam(in: garage)
      #expect(!sam.$brother.isLoaded && sam.$brother.identifiers == ["Nick"])
      #expect(sam.$siblings.identifiers == ["Nick", "Emily"] && sam.$brother == sam.$brother)
      #expect(try garage.reads { _ = sam.brother } == 1)
      #expect(sam.$brother.isLoaded)
      #expect(try garage.reads { _ = sam.siblings[0] } == 1)
    }
  }

  @Test func aFailureIsObservableAndLosesNothing() throws {
    try park(in: garage)
    try garage.delete(Friend("Nick"))
    let sam = try sam(in: garage)
    let missing = GarageError.failedToRetrieveObject("Friend \"Nick\"")
    #expect(sam.$brother.failure == nil)
    #expect(sam.brother == nil)
    #expect(sam.$brother.failure as? GarageError == missing)
    #expect(throws: missing) { try sam.$brother.resolve() }
    #expect(sam.siblings.map(\.name) == ["Emily"])

    // The reference survives parking and resolves once its target is back.
    try garage.park(sam)
    try garage.park(Friend("Nick"))
    #expect(try self.sam(in: garage).brother?.name == "Nick")
    #expect(sam.brother?.name == "Nick")
    #expect(sam.$brother.failure == nil)
  }

  @Test func addingToAnArrayKeepsWhatIsOutOfReach() throws {
    try park(in: garage)
    let sam = try sam(in: garage)
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
    try park(in: garage)
    let sam = try sam(in: garage)
    weak var nick = sam.brother
    #expect(nick != nil)
    sam.$brother.unload()
    #expect(nick == nil)
    #expect(sam.brother?.name == "Nick")
    nick = sam.brother
    nick?.$brother.unload()
    nick?.$siblings.unload()
  }

  @Test func anUnreadReferenceLeavesTheObjectAsItIs() throws {
    func age() throws -> Int? { try garage.retrieve(Friend.self, identifier: "Nick")?.age }
    try park(in: garage)
    let sam = try sam(in: garage)
    let nick = Friend("Nick")
    nick.age = 50
    try garage.park(nick)
    try garage.park(sam)
    #expect(try age() == 50)
    // A resolved reference is parked with its owner.
    sam.brother?.age = 51
    try garage.park(sam)
    #expect(try age() == 51)
  }

  @Test func aReferenceGoesToAnotherGarageWithItsObject() throws {
    let (garage, other) = (Garage(with: [.inMemory]), Garage(with: [.inMemory]))
    try park(in: garage)
    try other.park(try sam(in: garage))
    #expect(try other.retrieveAll(Friend.self).map(\.name) == ["Emily", "Nick", "Sam"])
  }

  @Test func otherEncodersWriteIdentifiersAndOthersDecodersReadObjects() throws {
    let sam = Friend("Sam")
    sam.brother = Friend("Nick")
    sam.brother?.brother = sam
    defer { sam.brother = nil }
    #expect(String(decoding: try JSONEncoder().encode(sam), as: UTF8.self).contains(#""brother":"Nick""#))
    let text = #"{"name":"Sam","age":1,"brother":{"name":"Nick","age":2},"siblings":[{"name":"Zoe","age":3}]}"#
    let read = try JSONDecoder().decode(Friend.self, from: Data(text.utf8))
    #expect(read.brother?.name == "Nick" && read.siblings[0].age == 3)
  }
}
