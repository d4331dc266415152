import CBORCoding
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct CodableTests {
  let directory = CacheDirectory()

  struct Address: Codable, Equatable {
    var street: String
    var numbers: [Int]
  }

  enum Kind: Codable, Equatable {
    case person(name: String, age: Int?)
    case company(Address)
    case unknown
  }

  struct User: Codable, Equatable {
    var id: UInt64
    var name: String?
    var score: Double
    var seen: Date
    var icon: Data
    var home: URL?
    var kinds: [Kind]
    var tags: Set<String>
    var addresses: [String: Address]
    var matrix: [[Float]]
  }

  static let user = User(
    id: .max, name: "é\0\u{1F600}\"\\", score: -.infinity, seen: Date(timeIntervalSinceReferenceDate: 0.123456789),
    icon: Data([0, 255, 1]), home: URL(string: "https://example.org/ä?x=1"),
    kinds: [.person(name: "", age: nil), .company(Address(street: "s", numbers: [.min, .max])), .unknown],
    tags: ["a", "b"], addresses: ["": Address(street: "", numbers: [])], matrix: [[], [1.5, .infinity]])

  @Test func codableValuesAreStoredAsCBOR() throws {
    let cache = try directory.open()
    try cache.set(Self.user, forKey: "user")
    try cache.set(Int?.some(5), forKey: "optional")
    #expect(try cache.entries().map(\.format) == [.cbor, .cbor])
    let stored = try cache.withBytes(forKey: "user") { bytes in bytes.withUnsafeBytes { Data($0) } }
    #expect(try stored == CBOREncoder().encode(Self.user))
    #expect(try CBORDecoder().decode(User.self, from: #require(stored)) == Self.user)
    try cache.close()
  }

  final class Cycle: Codable, Sendable {
    let child: [String: Cycle]
    init(from decoder: any Decoder) throws { child = [:] }
    init() { child = [:] }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(["self": self])
    }
  }

  @Test func aCycleIsAnErrorWithItsPath() throws {
    let cache = try directory.open()
    let error = #expect(throws: CacheError.self) { try cache.set(Cycle(), forKey: "cycle") }
    #expect(error?.code == .encodingFailed && error.map { "\($0)".contains("[0].self[0].self") } == true)
    #expect(try cache.count == 0)
    try cache.close()
  }

  struct Unencodable: Codable, Sendable {
    struct Failure: Error {}
    init() {}
    init(from decoder: any Decoder) throws { throw Failure() }
    func encode(to encoder: any Encoder) throws { throw Failure() }
  }

  @Test func whatCannotBeEncodedLeavesTheOldValue() throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "key")
    #expect(errorCode { try cache.set(Unencodable(), forKey: "key") } == .encodingFailed)
    let code = errorCode {
      try cache.write { batch in
        batch.set(2, forKey: "key")
        batch.set(Unencodable(), forKey: "other")
        batch.removeAll()
      }
    }
    #expect(code == .encodingFailed)
    #expect(try cache.value(Int.self, forKey: "key") == 1 && cache.count == 1)
    try cache.close()
  }
}
