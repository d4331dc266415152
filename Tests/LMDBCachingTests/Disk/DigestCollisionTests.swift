import Foundation
import Testing

@testable import LMDBCaching

/// Long keys with equal digests: the cache may lose one, but never returns another key's value.
@Suite struct DigestCollisionTests {
  let directory = CacheDirectory()
  static let first = String(repeating: "c", count: 600)
  static let second = String(repeating: "c", count: 601)
  static let third = String(repeating: "c", count: 600) + "é"

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> DiskStore {
    try DiskStore.open(
      directory: directory.path, configuration: CacheDirectory.configuration(change),
      databaseKey: DatabaseKey(digest: { _ in (1, 2) }))
  }

  func put(_ text: String, _ key: String, _ store: DiskStore) throws {
    try ValueArchiver.withArchive(of: text) { (format, bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, format, bytes, expires: 0, cost: nil)
        _ = try store.put(key, header: header, payload: bytes, through: .none, by: nil)
      }
    }
  }

  func text(_ key: String, _ store: DiskStore) throws -> String? {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try store.records.readData(key).map { String(decoding: $0.payload, as: UTF8.self) }
    }
  }

  @Test(arguments: [true, false]) func oneNeverGetsTheOthersValue(_ committing: Bool) throws {
    let store = try open(neverCommitting)
    try put("1", Self.first, store)
    if committing { try store.commitPending() }
    try put("2", Self.second, store)
    if committing { try store.commitPending() }
    let values = [try text(Self.first, store), try text(Self.second, store)]
    #expect(values[0] == "1" || values[0] == nil)
    #expect(values[1] == "2")
    #expect(try text(Self.third, store) == nil)
    #expect(try CacheKey.with(Self.third) { (key) throws(CacheError) in try store.header(key) } == nil)
    try store.release()
  }

  @Test func listsAndRemovalsNameTheOwnKey() throws {
    let store = try open()
    try put("1", Self.first, store)
    try store.commitPending()
    #expect(try store.entries(withPrefix: "c").map(\.key) == [Self.first])
    _ = try CacheKey.with(Self.second) { (key) throws(CacheError) in try store.remove(key, by: nil) }
    try store.commitPending()
    #expect(try text(Self.first, store) == "1")
    try put("2", Self.second, store)
    #expect(try store.entries(withPrefix: Self.second).map(\.key) == [Self.second])
    #expect(try store.count() == 1)
    try store.release()
  }

  @Test func theLaterOfTwoInOneCommitStays() throws {
    for round in 0..<4 {
      let store = try open(neverCommitting)
      let keys = round % 2 == 0 ? [Self.first, Self.second] : [Self.second, Self.first]
      try put("old", keys[0], store)
      try put("new", keys[1], store)
      try store.commitPending()
      #expect(try text(keys[1], store) == "new")
      #expect(try text(keys[0], store) == nil)
      try store.release()
    }
  }

  @Test func replayingAJournalKeepsThemApart() throws {
    let store = try open(neverCommitting)
    try put("1", Self.first, store)
    try put("2", Self.second, store)
    let crashed = directory.copy()
    let reopened = try DiskStore.open(
      directory: crashed.path, configuration: CacheDirectory.configuration(),
      databaseKey: DatabaseKey(digest: { _ in (1, 2) }))
    let values = [try text(Self.first, reopened), try text(Self.second, reopened)]
    #expect(values[0] == nil || values[0] == "1")
    #expect(values[1] == "2")
    try reopened.release()
    try store.release()
  }
}
