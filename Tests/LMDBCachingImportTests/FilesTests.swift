import Foundation
import LMDBCaching
import LMDBCachingImport
import Testing

@Suite struct FilesTests {
  let place = Place()

  private func run(_ cache: LMDBCache, _ url: URL? = nil) throws -> ImportReport {
    try CacheImport(from: .files(in: url ?? place.store)).run(into: cache)
  }

  @Test func pathsAreKeysAndTheLastChangeIsCreatedAndAccessed() throws {
    let modified = Date(timeIntervalSince1970: 1_650_000_000)
    let long = Data(repeating: 7, count: 3 << 20)
    let files = ["a": Data([1]), "folder/.d": Data([2]), ".hidden": Data(), "folder/deeper/c": long]
    for (name, bytes) in files { try place.write(bytes, to: "store/" + name, modified: modified) }
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))) }
    #expect(try run(cache).taken == files.count)
    for (name, bytes) in files {
      #expect(try cache.value(Data.self, forKey: name) == bytes)
      let entry = try #require(try cache.entry(forKey: name))
      #expect(entry.created == modified && entry.lastAccess == modified)
    }
  }

  @Test func whatIsNoFileIsNotOpened() throws {
    try place.write([1], to: "store/file")
    try place.write([2], to: "outside/secret")
    #expect(symlink(place.path("outside/secret"), place.path("store/link")) == 0)
    #expect(symlink(place.path("outside"), place.path("store/folder link")) == 0)
    #expect(symlink("..", place.path("store/circle")) == 0)
    #expect(mkfifo(place.path("store/fifo"), 0o600) == 0)
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.taken == 1 && report.refused == 4 && report.refusalCounts == [.notAFile: 4])
    #expect(try cache.entries().map(\.key) == ["file"])
  }

  @Test func namesThatAreNoTextAreRefused() throws {
    try place.write([1], to: "store/fine")
    let made = ([UInt8](place.store.path.utf8) + [0x2F, 0xFF, 0x61, 0]).withUnsafeBytes {
      open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY, 0o600)
    }
    // Some file systems reject such names.
    guard made >= 0 else { return }
    close(made)
    let report = try run(place.cache())
    #expect(report.taken == 1 && report.refusalCounts == [.unreadableKey: 1])
  }

  /// The cache may be inside the source directory, or the directory itself.
  @Test func theCacheIsNotImportedIntoItself() throws {
    try place.write([1], to: "file")
    let cache = try place.cache()
    let report = try run(cache, place.url)
    #expect(report.taken == 1 && report.refused == 0)
    #expect(try cache.entries().map(\.key) == ["file"])
    #expect(importErrorCode { try run(cache, cache.directory) } == .invalidArgument)
  }
}
