import Foundation
import LMDBCaching
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `watch` observes a cache that this process changes.
@Suite struct WatchTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func open() throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 26
    return try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: configuration)
  }

  private func watch(_ options: String...) throws -> ChildProcess {
    try ChildProcess(Tool.executable, ["watch"] + options + ["--cache", scratch.cache])
  }

  private struct Line: Decodable {
    let change: String
    let date: Date
    let key: String?
    let size: Int?
    let format: String?
    let expires: Date?
  }

  private func line(_ text: String?) throws -> Line {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(Line.self, from: Data(try #require(text).utf8))
  }

  /// Changes an entry until the watch reports it, since the watch may not have begun.
  private func begin(_ cache: LMDBCache, key: String = "begin", _ awaitReport: () -> Void) {
    let isTold = Guarded(false)
    let writing = DispatchGroup()
    inBackground(writing) {
      var number = 0
      while !isTold.current {
        try? cache.set(number, forKey: key)
        number += 1
        usleep(20_000)
      }
    }
    awaitReport()
    isTold { $0 = true }
    writing.wait()
  }

  private func begin(_ process: ChildProcess, _ cache: LMDBCache, key: String = "begin") throws {
    begin(cache, key: key) { _ = process.readLine() }
    // Skip the reports up to a marker.
    try cache.set("mark", forKey: key + "-mark")
    while let line = process.readLine(), !line.contains(key + "-mark") {}
  }

  @Test func changesAreWrittenAsTheyHappen() throws {
    let cache = try open()
    let process = try watch("--json")
    try begin(process, cache)
    try cache.set(Data(count: 1_234), forKey: "a\nb", expires: .after(.seconds(3_600)))
    let set = try line(process.readLine())
    #expect(set.change == "set")
    #expect(set.key == "a\nb")
    #expect(set.size == 1_234)
    #expect(set.format == "bytes")
    #expect(set.expires.map { $0 > Date() } ?? false)
    #expect(abs(set.date.timeIntervalSinceNow) < 600)
    try cache.removeValue(forKey: "a\nb")
    let removed = try line(process.readLine())
    #expect(removed.change == "removed" && removed.key == "a\nb" && removed.size == nil)
    try cache.set("short", forKey: "short", expires: .after(.seconds(2)))
    #expect(try line(process.readLine()).change == "set")
    let expired = try line(process.readLine())
    #expect(expired.change == "expired" && expired.key == "short")
    try cache.removeAll()
    let all = try line(process.readLine())
    #expect(all.change == "removed all" && all.key == nil)
    process.signal(SIGINT)
    #expect(process.end() == .exit(0))
    try cache.close()
  }

  @Test func linesAreForPeople() throws {
    let cache = try open()
    let process = try watch("--prefix", "user:")
    try begin(process, cache, key: "user:begin")
    try cache.set("x", forKey: "other")
    try cache.set(["name": "Ada"], forKey: "user:\u{1B}[2J")
    let line = try #require(process.readLine())
    let cells = line.split(separator: " ", omittingEmptySubsequences: true)
    #expect(cells.count == 5)
    #expect(cells[0].hasSuffix("Z") && cells[0].contains("T"))
    #expect(cells[1...] == ["set", cells[2], "cbor", "user:\\u{1B}[2J"])
    #expect(!line.contains("\u{1B}"))
    process.signal(SIGTERM)
    #expect(process.end() == .exit(0))
    try cache.close()
  }

  /// A watch that writes to a pipe.
  private final class PipedWatch {
    let process: LaunchedProcess
    let reading: FileHandle
    private let errorFile: URL

    init(_ scratch: Scratch) throws {
      let pipe = Pipe()
      reading = pipe.fileHandleForReading
      errorFile = URL(fileURLWithPath: try scratch.file("err", Data()))
      process = try LaunchedProcess(
        Tool.executable, ["watch", "--cache", scratch.cache], input: .nullDevice, output: pipe.fileHandleForWriting,
        errors: FileHandle(forWritingTo: errorFile))
      try pipe.fileHandleForWriting.close()
    }

    var errors: String { get throws { try String(contentsOf: errorFile, encoding: .utf8) } }
  }

  /// It must notice a closed pipe without writing.
  @Test(arguments: [false, true]) func itEndsWhenNobodyReads(_ writes: Bool) throws {
    let cache = try open()
    let watch = try PipedWatch(scratch)
    #expect(eventually { isWatching(watch.process.identifier) })
    try watch.reading.close()
    if writes { try cache.set("x", forKey: "x") }
    #expect(watch.process.wait(until: Date() + 60) == .exit(0))
    #expect(try watch.errors == "")
    try cache.close()
  }

  @Test func aCacheThatIsDeletedIsAnErrorUnlessItComesBack() throws {
    let cache = try open()
    let watch = try PipedWatch(scratch)
    begin(cache) { _ = watch.reading.availableData }
    try cache.close()
    try FileManager.default.removeItem(atPath: scratch.cache)
    #expect(watch.process.wait(until: Date() + 60) == .exit(66))
    #expect(try watch.errors.contains("no cache in"))
  }

  @Test func aCacheThatIsMadeAnewIsFollowed() throws {
    let cache = try open()
    let process = try watch("--json")
    try begin(process, cache)
    try FileManager.default.removeItem(atPath: scratch.cache)
    // The next operation of an open cache recreates the directory.
    let isDone = Guarded(false)
    let writing = DispatchGroup()
    inBackground(writing) {
      while !isDone.current {
        try? cache.set("x", forKey: "again")
        usleep(20_000)
      }
    }
    var told: [String] = []
    while let text = process.readLine() {
      let line = try line(text)
      told.append(line.change)
      if line.key == "again", line.change == "set" { break }
    }
    #expect(told.last == "set")
    isDone { $0 = true }
    writing.wait()
    process.signal(SIGINT)
    #expect(process.end() == .exit(0))
    try cache.close()
  }

  @Test func whoLooksChangesNothing() throws {
    let cache = try open()
    try cache.set("x", forKey: "x")
    try cache.close()
    try? FileManager.default.removeItem(atPath: scratch.cache + "/statistics")
    let before = try FileManager.default.subpathsOfDirectory(atPath: scratch.cache).sorted()
    let image = try TreeImage(scratch.cache, except: ["lock.mdb"])
    let process = try watch()
    #expect(eventually { isWatching(process.identifier) })
    process.signal(SIGINT)
    #expect(process.end() == .exit(0))
    #expect(try FileManager.default.subpathsOfDirectory(atPath: scratch.cache).sorted() == before)
    #expect(image.losses(in: try TreeImage(scratch.cache, except: ["lock.mdb"])) == [])
  }

  /// Whether it has opened the database file.
  private func isWatching(_ process: pid_t) -> Bool {
    let folder = "/proc/\(process)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0))?.hasSuffix("data.mdb") ?? false
    }
  }
}
