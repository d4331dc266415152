import Foundation
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct BackupTests {
  let directory = CacheDirectory()
  let places = CacheDirectory()

  private var backup: URL { places.url("backup") }

  /// Every field of every entry, except its stamp.
  private func contents(_ url: URL) throws -> [String] {
    let reader = try #require(try CacheReader(directory: url))
    var all: [String] = []
    try reader.forEachRecord(selection: .kept, onDamage: { throw $0 }) { record in
      all.append(
        "\(Array(record.key.utf8)) \(record.format.rawValue) \(record.stored.hashValue) \(record.stored.count) "
          + "\(record.created) \(record.lastAccess) \(record.entry.cost) \(record.expires) \(record.refresh) "
          + "\(record.kept) \(record.revision) \(record.tagHashes) \(record.uses) \(record.isAbsence) "
          + "\(record.isTransformed) \(record.isLogged)")
      return true
    }
    return all
  }

  private func fill(_ cache: LMDBCache) throws {
    var random = SeededRandom(7)
    for number in 0..<300 {
      let size = [0, 1, 100, 2_048, 2_049, 30_000][random.below(6)]
      let key =
        number == 0 ? "" : number % 7 == 0 ? String(repeating: "long", count: 150) + "\(number)" : "key \(number)"
      try cache.write { batch in
        batch.set(
          Data(random.bytes(size)), forKey: key, expires: number % 5 == 0 ? .after(.seconds(3_600)) : .never,
          cost: number, tags: number % 3 == 0 ? ["a", "tag \(number)"] : [])
      }
    }
  }

  private func fillAndClose() throws {
    let cache = try directory.openDisk()
    try fill(cache)
    try cache.close()
  }

  /// The bytes of the value log.
  private func logSize(_ url: URL) throws -> Int {
    let folder = url.appendingPathComponent("values")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).reduce(0) {
      try $0 + Data(contentsOf: folder.appendingPathComponent($1)).count
    }
  }

  /// With the fields that the model does not list, and without replaced values.
  @Test func aBackupIsAnEqualAndCompactCache() async throws {
    let cache = try directory.openDisk(neverCommitting)
    for _ in 0..<3 { try fill(cache) }
    try await cache.removeAll(.tag("tag 3"))
    let report = try await cache.backUp(to: backup)
    #expect(report.entries == 299 && report.damagedEntries == 0 && report.bytes > 1 << 20)
    let original = try contents(directory.url)
    #expect(try original.count == 299 && contents(backup) == original && places.names() == ["backup"])
    let logged = try cache.entries().filter { $0.size > 2_048 }.reduce(0) { $0 + $1.size }
    #expect(try logged..<logged / 20 * 21 ~= logSize(backup))
    let found = try CacheInspection.verify(directory: backup, checksValues: true)
    #expect(found.damagedEntries == 0 && found.entries == 299)
    // The copy is an independent cache, tags included.
    let copy = try LMDBCache(directory: backup, configuration: CacheDirectory.configuration().withoutMemory)
    try await copy.removeAll(.tag("a"))
    try copy.set("new", forKey: "new")
    #expect(try copy.recovery == nil && copy.entries().count == 201 && cache.entries().count == 299)
    try await copy.close()
    try await cache.close()
  }

  @Test func backupsOverwriteNothing() throws {
    let cache = try directory.openDisk()
    try cache.set("value", forKey: "key")
    func refusal(_ url: URL) -> CacheError.Code? { errorCode { try cache.backUp(to: url) } }
    for name in ["file", "folder/file"] { places.write(Data("mine".utf8), to: name) }
    try FileManager.default.createSymbolicLink(at: places.url("link"), withDestinationURL: places.url("none"))
    try FileManager.default.createDirectory(at: places.url("empty"), withIntermediateDirectories: false)
    for name in ["file", "folder", "link", "no/backup", "file/backup"] {
      #expect(refusal(places.url(name)) != nil, "\(name)")
    }
    #expect(refusal(directory.url("backup")) == .invalidArgument && refusal(directory.url) == .invalidDirectory)
    #expect(refusal(URL(string: "https://example.com/backup")!) == .invalidArgument)
    #expect(places.names() == ["empty", "file", "folder", "link"])
    #expect(try refusal(places.url("empty")) == nil && contents(places.url("empty")).count == 1)
    try cache.close()
    #expect(refusal(places.url("closed")) == .closed)
  }

  // MARK: Restoring

  private func restore(
    to url: URL, replacing: Bool = false, _ change: (inout CacheCopying.Options) -> Void = { _ in }
  ) throws -> CacheRestoration.Report? {
    var options = CacheCopying.Options()
    change(&options)
    let reader = try #require(try CacheReader(directory: directory.url))
    return try CacheRestoration.run(from: reader, to: url, removingFormer: replacing, options)
  }

  private func makeOther(_ url: URL) async throws {
    let other = try LMDBCache(directory: url, configuration: CacheDirectory.configuration().withoutMemory)
    try other.set("old", forKey: "old")
    try await other.close()
  }

  /// The tool's tests try the names of several former caches.
  @Test(arguments: [false, true]) func aRestoredCacheTakesThePlaceOfTheOldOne(_ isDamaged: Bool) async throws {
    try fillAndClose()
    let original = try contents(directory.url)
    let (place, left) = (places.url("cache"), places.path + "/cache.former-1")
    try await makeOther(place)
    if isDamaged { try Data(repeating: 1, count: 20_000).write(to: place.appendingPathComponent("data.mdb")) }
    // A former cache that cannot be removed is named.
    let session = FaultInjection.begin(.directory(left), [.init(.unlinkat, returns: EIO, count: .max)])
    let report = try restore(to: place, replacing: !isDamaged)
    FaultInjection.end(session)
    #expect(report?.former?.path == left)
    if !isDamaged { #expect(report?.notices.count == 1) }
    #expect(try contents(place) == original && places.names() == ["cache", "cache.former-1"])
  }

  @Test func openCachesAndOtherFilesAreNotReplaced() async throws {
    let cache = try directory.openDisk()
    try fill(cache)
    let place = places.url("cache")
    try await makeOther(place)
    func open() -> LMDBCache? {
      try? LMDBCache(directory: place, configuration: CacheDirectory.configuration().withoutMemory)
    }
    // One that is open at the beginning is tried by the tool.
    var late: LMDBCache?
    #expect {
      try restore(to: place) { $0.progress = { if $0 == 100 { late = open() } } }
    } throws: { ($0 as? CacheError)?.code == .busy }
    let found = try late.map { try $0.value(String.self, forKey: "old") }
    #expect(found == "old")
    try await late?.close()
    #expect(try contents(place).count == 1)
    places.write(Data("mine".utf8), to: "folder/file")
    #expect { try restore(to: places.url("folder")) } throws: { ($0 as? CacheError)?.code == .invalidDirectory }
    #expect { try restore(to: places.url("folder/file")) } throws: { $0 is CacheError }
    for inside in [directory.url, directory.url("x")] {
      #expect { try restore(to: inside) } throws: { $0 is CacheError }
    }
    #expect(places.names() == ["cache", "folder"] && places.names(in: "folder") == ["file"])
    try await cache.close()
  }

  @Test(arguments: ["renameat", "fsync", "openat", "unlinkat"])
  func aRestorationThatFailsLeavesTheCache(_ call: String) async throws {
    try fillAndClose()
    let place = places.url("cache")
    try await makeOther(place)
    var old = try contents(place)
    let new = try contents(directory.url)
    for first in 1...12 {
      let rule = FaultInjection.Rule(FaultInjection.Call(rawValue: call), returns: EIO, first: first)
      let session = FaultInjection.begin(.directory(places.path), [rule])
      let result = Result { try restore(to: place) }
      let report = FaultInjection.end(session)
      if first == 1 { #expect(report.triggered > 0, "\(call)") }
      // Either cache is in place, and the former one is still somewhere.
      let found = try contents(place)
      #expect(found == old || found == new, "\(call) \(first): \(result)")
      if case .failure = result { #expect(found == old, "\(call) \(first): \(result)") }
      if found == new {
        let others = try places.names().filter { $0 != "cache" }.map { try contents(places.url($0)) }
        #expect(others.contains(old), "\(call) \(first): \(result)")
      } else if call != "unlinkat" {
        #expect(places.names() == ["cache"], "\(call) \(first): \(result)")
      }
      for name in places.names() { try FileManager.default.removeItem(at: places.url(name)) }
      try await makeOther(place)
      old = try contents(place)
    }
  }
}
