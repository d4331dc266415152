import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct ContentIdentityTests {
  let garage = Garage(with: [.inMemory])
  let home = Address(street: "330 Congress St.", city: "Boston", zip: "02140")

  @Test(arguments: Kind.allCases)
  func aHashableObjectIsFoundByItsContent(kind: Kind) throws {
    try kind.with { garage in
      var moved = home
      moved.zip = "02141"
      try garage.parkAll([home, moved, home])
      #expect(Set(try garage.retrieveAll(Address.self)) == [home, moved])
      let identifier = try garage.identifier(for: home)
      // The digest of {"city":"Boston","street":"330 Congress St.","zip":"02140"}, by sha256sum.
      #expect(identifier == "6f2194dfc1935a4c4750a7f0dff1430dfe5b3af3ddc3b3b807ccb9ca4b5c745c")
      #expect(try garage.retrieve(Address.self, identifier: identifier) == home)
      try garage.delete(home)
      #expect(try garage.retrieveAll(Address.self) == [moved])
    }
  }

  struct Bag: Codable, Hashable {
    var names: Set<String> = []
    var counts: [Kind: Int] = [:]
    var pairs: [Address: Set<Int>] = [:]
    var when = Date(timeIntervalSinceReferenceDate: 0.1)

    enum Kind: String, Codable, CaseIterable { case a, b, c, d, e }
  }

  @Test func theOrderOfSetsAndDictionariesAndTheDateStrategyDoNotCount() throws {
    var random = SeededRandom(1)
    func bag() -> Bag {
      var bag = Bag()
      // Another capacity changes the iteration order.
      bag.names.reserveCapacity(.random(in: 64...4_096, using: &random))
      for number in (0..<50).shuffled(using: &random) { bag.names.insert("name \(number)") }
      for kind in Bag.Kind.allCases.shuffled(using: &random) { bag.counts[kind] = 1 }
      for number in (0..<20).shuffled(using: &random) {
        bag.pairs[Address(street: "\(number)", city: "", zip: "")] = Set((1...5).shuffled(using: &random))
      }
      return bag
    }
    let first = bag()
    let identifier = try garage.identifier(for: first)
    for _ in 0..<20 { #expect(try garage.identifier(for: bag()) == identifier) }
    try garage.withDateEncodingStrategy(.secondsSince1970) { try garage.park(first) }
    try garage.delete(first)
    try garage.park(first)
    #expect(try garage.retrieve(Bag.self, identifier: identifier) == first)
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func theDigestIsTheStandards(text: String, digest: String) {
    #expect(ContentDigest.text(of: Array(text.utf8)) == digest)
  }
}
