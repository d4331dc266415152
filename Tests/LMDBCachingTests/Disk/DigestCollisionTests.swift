import Foundation
import Testing

@testable import LMDBCaching

/// Long keys with equal digests: the cache may lose one, but never returns another key's value.
@Suite struct DigestCollisionTests {
  let directory = CacheDirectory()
  static let keys = ["", "c", "é"].map { String(repeating: "c", count: 600) + $0 }

  private func open(_ directory: CacheDirectory) throws -> DiskStore {
    try DiskStore.open(
      directory: directory.path, configuration: CacheDirectory.configuration(neverCommitting),
      databaseKey: DatabaseKey(digest: { _ in (1, 2) }))
  }

  private func put(_ text: String, _ key: String, _ store: DiskStore) throws {
    try ValueArchiver.withArchive(of: text) { (format, bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, format, bytes, expires: 0, cost: nil)
        _ = try store.put(key, header: header, payload: bytes, through: .none, by: nil)
      }
    }
  }

  private func text(_ key: String, _ store: DiskStore) throws -> String? {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try store.records.readData(key).map { String(decoding: $0.payload, as: UTF8.self) }
    }
  }

  /// The second of two keys has its value, and the first has its own or none.
  private func expect(_ store: DiskStore) throws {
    let texts = try Self.keys.map { try text($0, store) }
    #expect((texts[0] == "1" || texts[0] == nil) && texts[1] == "2" && texts[2] == nil)
  }

  @Test(arguments: [true, false]) func aKeyNeverGetsTheValueOfAnother(_ commits: Bool) throws {
    let store = try open(directory)
    try put("1", Self.keys[0], store)
    if commits {
      try store.commitPending()
      #expect(try store.entries(withPrefix: "c").map(\.key) == [Self.keys[0]])
      _ = try CacheKey.with(Self.keys[2]) { (key) throws(CacheError) in try store.remove(key, by: nil) }
      try store.commitPending()
      #expect(try text(Self.keys[0], store) == "1")
    }
    try put("2", Self.keys[1], store)
    let crashed = directory.copy()
    if commits { try store.commitPending() }
    try expect(store)
    // After a replay.
    let reopened = try open(crashed)
    try expect(reopened)
    #expect(try store.entries(withPrefix: Self.keys[1]).map(\.key) == [Self.keys[1]])
    try reopened.release()
    try store.release()
  }
}
