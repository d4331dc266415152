import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

/// Records of an unknown version: their content is unknown, but the keys are occupied.
@Suite struct UnreadableEntryTests {
  enum Version: CaseIterable, Sendable {
    case newer, damaged

    var byte: UInt8 { self == .newer ? RecordHeader.version + 1 : 0 }
    var code: CacheError.Code { self == .newer ? .unsupportedRecord : .corruptedRecord }
  }

  /// Calls that check for an entry or depend on one.
  static let attempts: [@Sendable (LMDBCache) throws -> Void] = [
    { _ = try $0.contains("key") }, { _ = try $0.withoutMemory.contains("key") }, { _ = try $0.entry(forKey: "key") },
    { _ = try $0.read { try $0.contains("key") } }, { _ = try $0.set("new", forKey: "key", if: .absent) },
    { _ = try $0.withoutMemory.set("new", forKey: "key", if: .absent) },
    { _ = try $0.setObject(NSString(string: "new"), forKey: "key", if: .absent) },
    { try $0.touch(forKey: "key", expires: .never) }, { try $0.set("new", forKey: "key", expires: .unchanged) },
    { try $0.update(String.self, forKey: "key") { $0 = "new" } },
  ]

  let directory = CacheDirectory()

  private func open(_ version: Version) throws -> LMDBCache {
    let cache = try directory.open()
    try cache.set("kept", forKey: "key", expires: .after(.seconds(86_400)))
    try cache.flush()
    cache.memory.removeAll()
    var record = try #require(try record(cache))
    record[4] = version.byte
    let transaction = try cache.store.environment.beginWrite()
    try [UInt8]("key".utf8).withBytes { (key) throws(LMDBError) in
      try record.withBytes { (record) throws(LMDBError) in try transaction.put(record, forKey: key) }
    }
    try transaction.commit()
    return cache
  }

  private func record(_ cache: LMDBCache) throws -> [UInt8]? {
    try cache.store.environment.withReadTransaction { (txn) throws(LMDBError) in
      try [UInt8]("key".utf8).withBytes { (key) throws(LMDBError) in
        try txn.withValue(forKey: key) { (value) throws(LMDBError) in [UInt8](value) }
      }
    }
  }

  @Test(arguments: Company.allCases, Version.allCases) func unreadableEntriesCountAsPresent(
    _ company: Company, _ version: Version
  ) throws {
    let cache = try open(version)
    let child = try company.join(directory)
    let kept = try #require(try record(cache))
    for (index, attempt) in Self.attempts.enumerated() {
      #expect(errorCode { try attempt(cache) } == version.code, "\(index)")
      try cache.flush()
      #expect(try record(cache) == kept, "\(index)")
    }
    #expect(errorCode { try cache.value(String.self, forKey: "key") } == version.code)
    // An unconditional write replaces it.
    try cache.set("replaced", forKey: "key")
    try cache.flush()
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "replaced")
    child?.end()
    try cache.close()
  }

  // MARK: Types that change: the table of the article on them

  struct Original: Codable { var name = "Ada", age = 36, mood = Mood.calm }
  enum Mood: String, Codable { case calm, angry }
  struct Fewer: Codable { var name: String }
  struct WithOptional: Codable { var name: String, theme: String? }
  struct Wider: Codable { var name: String, age: Double }
  struct Added: Codable { var name: String, theme: String }
  struct OtherKind: Codable { var name: [String] }
  struct LostCase: Codable {
    enum Mood: String, Codable { case angry }
    var name: String, mood: Mood
  }

  @Test func changedTypesReadOldValues() async throws {
    let cache = try LMDBCache.temporary()
    try cache.set(Original(), forKey: "key")
    #expect(try cache.value(Fewer.self, forKey: "key")?.name == "Ada")
    #expect(try #require(try cache.value(WithOptional.self, forKey: "key")).theme == nil)
    #expect(try cache.value(Wider.self, forKey: "key")?.age == 36)
    #expect(errorCode { try cache.value(Added.self, forKey: "key") } == .typeMismatch)
    #expect(errorCode { try cache.value(OtherKind.self, forKey: "key") } == .typeMismatch)
    #expect(errorCode { try cache.value(LostCase.self, forKey: "key") } == .decodingFailed)
    #expect(try await cache.value(forKey: "key") { _ in Added(name: "Ada", theme: "light") }.theme == "light")
    #expect(try cache.value(Added.self, forKey: "key")?.theme == "light")
  }
}
