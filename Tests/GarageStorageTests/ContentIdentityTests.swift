import Foundation
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct ContentIdentityTests {
  let home = Address(street: "330 Congress St.", city: "Boston", zip: "02140")

  @Test(arguments: Kind.allCases)
  func aHashableObjectIsFoundByItsContent(kind: Kind) throws {
    try kind.with { garage in
      var moved = home
      moved.zip = "02141"
      try garage.parkAll([home, moved, home])
      #expect(Set(try garage.retrieveAll(Address.self)) == [home, moved])
      let identifier = try garage.identifier(for: home)
      #expect(try garage.retrieve(Address.self, identifier: identifier) == home)
      try garage.delete(home)
      #expect(try garage.retrieveAll(Address.self) == [moved])
    }
  }

  @Test func theIdentifierIsOfTheContentAlone() throws {
    let garage = Garage(with: [.inMemory])
    // The digest of {"city":"Boston","street":"330 Congress St.","zip":"02140"}, by sha256sum.
    #expect(
      try garage.identifier(for: home) == "6f2194dfc1935a4c4750a7f0dff1430dfe5b3af3ddc3b3b807ccb9ca4b5c745c")
  }

  struct Bag: Codable, Hashable {
    var names: Set<String>
    var counts: [Kind: Int]
    var pairs: [Address: Set<Int>]
    var when: Date

    enum Kind: String, Codable { case a, b, c, d, e }
  }

  @Test func theOrderOfSetsAndDictionariesDoesNotCount() throws {
    let garage = Garage(with: [.inMemory])
    func bag(_ random: inout SeededRandom) -> Bag {
      var names: Set<String> = []
      for number in (0..<50).shuffled(using: &random) { names.insert("name \(number)") }
      var counts: [Bag.Kind: Int] = [:]
      for kind in [Bag.Kind.a, .b, .c, .d, .e].shuffled(using: &random) { counts[kind] = kind.rawValue.count }
      var pairs: [Address: Set<Int>] = [:]
      for number in (0..<20).shuffled(using: &random) {
        pairs[Address(street: "\(number)", city: "", zip: "")] = Set([1, 2, 3, 4, 5].shuffled(using: &random))
      }
      return Bag(names: names, counts: counts, pairs: pairs, when: Date(timeIntervalSinceReferenceDate: 0.1))
    }
    var random = SeededRandom(1)
    let first = bag(&random)
    let identifier = try garage.identifier(for: first)
    for _ in 0..<20 {
      var other = bag(&random)
      // Another capacity changes the iteration order.
      other.names.reserveCapacity(.random(in: 64...4_096, using: &random))
      #expect(try garage.identifier(for: other) == identifier)
    }
    try garage.park(first)
    #expect(try garage.retrieve(Bag.self, identifier: identifier) == first)
  }

  @Test func theDateStrategyDoesNotCount() throws {
    let garage = Garage(with: [.inMemory])
    let bag = Bag(names: [], counts: [:], pairs: [:], when: Date(timeIntervalSinceReferenceDate: 1e6))
    try garage.withDateEncodingStrategy(.secondsSince1970) { try garage.park(bag) }
    #expect(throws: Never.self) { try garage.delete(bag) }
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func theDigestIsTheStandards(text: String, digest: String) {
    let bytes = SHA256.digest(of: Array(text.utf8))
    #expect(bytes.map { String(format: "%02x", $0) }.joined() == digest)
  }
}
