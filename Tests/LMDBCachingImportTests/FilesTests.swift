import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct FilesTests {
  let place = Place()

  private func run(_ cache: LMDBCache, _ url: URL? = nil) throws -> ImportReport {
    try CacheImport(from: .files(in: url ?? place.store)).run(into: cache)
  }

  @Test func pathsAreKeys() throws {
    let names = ["a", "folder/b", "folder/deeper/c", ".hidden", "folder/.d", "z z", "ключ"]
    for name in names { try place.write(name.utf8, to: "store/" + name) }
    try place.write([], to: "store/empty")
    let cache = try place.cache()
    #expect(try run(cache).taken == names.count + 1)
    for name in names { #expect(try cache.value(Data.self, forKey: name) == Data(name.utf8)) }
    #expect(try cache.value(Data.self, forKey: "empty") == Data())
  }

  @Test func theLastChangeIsCreatedAndAccessed() throws {
    let modified = Date(timeIntervalSince1970: 1_650_000_000)
    try place.write([1], to: "store/a", modified: modified)
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))) }
    #expect(try run(cache).taken == 1)
    let entry = try #require(try cache.entry(forKey: "a"))
    #expect(entry.created == modified && entry.lastAccess == modified)
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
    #expect(report.taken == 1 && report.refused == 4)
    #expect(report.refusalCounts == [.notAFile: 4])
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

  @Test func directoriesThatAreTooDeepAreRefused() throws {
    let deep = (0..<80).map { "d\($0)" }.joined(separator: "/")
    try place.write([1], to: "store/" + deep + "/file")
    try place.write([1], to: "store/file")
    let report = try run(place.cache())
    // Refused as unreadable rather than ignored, since it contains files.
    #expect(report.taken == 1 && report.refusalCounts == [.unreadable: 1])
    #expect(report.refusals.first?.message.contains("was not taken") == true)
  }

  @Test func longValuesAreKept() throws {
    var random = SeededRandom(3)
    let bytes = Data(random.bytes(3 << 20))
    try place.write(bytes, to: "store/long")
    let cache = try place.cache()
    #expect(try run(cache).taken == 1)
    #expect(try cache.value(Data.self, forKey: "long") == bytes)
  }
}
