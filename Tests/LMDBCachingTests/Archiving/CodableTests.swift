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

  func put(_ bytes: Data, _ format: ArchiveFormat, forKey key: String, in cache: LMDBCache) throws {
    try bytes.withBytes { (bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let store = cache.store
        let header = try store.header(for: key, format, bytes, expires: 0, cost: nil)
        _ = try store.put(key, header: header, payload: bytes, through: .none, by: nil)
      }
    }
  }

  @Test func damagedArchivesAreErrorsAndStay() throws {
    let cache = try directory.open()
    try put(Data([0x9F, 1]), .cbor, forKey: "key", in: cache)
    for _ in 0..<2 {
      #expect(errorCode { try cache.value([Int?].self, forKey: "key") } == .decodingFailed)
      #expect(errorCode { try cache.value(User.self, forKey: "key") } == .decodingFailed)
    }
    try put(Data([1]), ArchiveFormat(rawValue: 200), forKey: "key", in: cache)
    #expect(errorCode { try cache.value(User.self, forKey: "key") } == .typeMismatch)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: Note(title: "t", count: 1), requiringSecureCoding: true)
    var random = SeededRandom(1)
    let lengths = [0, 1, 8, archive.count / 2, archive.count - 1]
    for bytes in lengths.map({ archive.prefix($0) }) + (0..<5).map({ _ in Data(random.bytes(200)) }) {
      try put(bytes, .keyedArchive, forKey: "key", in: cache)
      #expect(errorCode { try cache.object(forKey: "key") } == .decodingFailed)
    }
    #expect(try cache.count == 1)
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
    do throws(CacheError) {
      try cache.set(Cycle(), forKey: "cycle")
      Issue.record("A cycle has been encoded.")
    } catch {
      #expect(error.code == .encodingFailed)
      #expect("\(error)".contains("[0].self[0].self") && "\(error)".contains("cycle of references"))
    }
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
    #expect(errorCode { try cache.withoutMemory.set(Unencodable(), forKey: "key") } == .encodingFailed)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    let code = errorCode {
      try cache.write { batch in
        batch.set(2, forKey: "key")
        batch.set(Unencodable(), forKey: "other")
        batch.removeAll()
      }
    }
    #expect(code == .encodingFailed)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    #expect(try cache.count == 1)
    try cache.close()
  }

  @Test func whatCannotBeDecodedIsAnErrorAndStays() throws {
    let cache = try directory.open()
    try cache.set([1: "x"], forKey: "key")
    cache.memory.removeAll()
    #expect(errorCode { try cache.value(Unencodable.self, forKey: "key") } == .decodingFailed)
    #expect(errorCode { try cache.value(Colour.self, forKey: "key") } == .typeMismatch)
    try cache.set("blue", forKey: "colour")
    #expect(errorCode { try cache.value(Colour.self, forKey: "colour") } == .decodingFailed)
    #expect(try cache.value(String.self, forKey: "colour") == "blue")
    #expect(try cache.count == 2)
    try cache.close()
  }

  enum Colour: String, Codable { case red }
}
