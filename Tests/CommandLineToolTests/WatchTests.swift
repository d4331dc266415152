import Foundation
import LMDBCaching
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `watch` observes a cache that this process changes.
@Suite(.ownThreads) struct WatchTests {
  let scratch = try! Scratch()

  private func watch(_ options: String...) throws -> ChildProcess {
    try ChildProcess(Tool.executable, ["watch"] + options + ["--cache", scratch.cache])
  }

  private struct Line: Decodable {
    let change: String, date: Date, key, format: String?, size: Int?, expires: Date?
  }

  private func line(of process: ChildProcess) throws -> Line {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(Line.self, from: Data(try #require(process.readLine()).utf8))
  }

  private func interrupt(_ process: ChildProcess, _ signal: Int32 = SIGINT) {
    process.signal(signal)
    #expect(process.end() == .exit(0))
  }

  /// Writes an entry again and again while `body` runs.
  private func writing(_ key: String, to cache: LMDBCache, _ body: () throws -> Void) rethrows {
    let isDone = Guarded(false)
    let writing = DispatchGroup()
    inBackground(writing) {
      var number = 0
      while !isDone.current {
        try? cache.set(number, forKey: key)
        number += 1
        usleep(20_000)
      }
    }
    defer {
      isDone { $0 = true }
      writing.wait()
    }
    try body()
  }

  /// Changes an entry until the watch reports it, since the watch may not have begun.
  private func begin(_ process: ChildProcess, _ cache: LMDBCache, key: String = "begin") throws {
    writing(key, to: cache) { _ = process.readLine() }
    // Skip the reports up to a marker.
    try cache.set("mark", forKey: key + "-mark")
    while let line = process.readLine(), !line.contains(key + "-mark") {}
  }

  @Test func changesAreWrittenAsTheyHappen() throws {
    let cache = try scratch.open()
    let process = try watch("--json")
    try begin(process, cache)
    try cache.set(Data(count: 1_234), forKey: "a\nb", expires: .after(.seconds(3_600)))
    let set = try line(of: process)
    #expect(set.change == "set" && set.key == "a\nb" && set.size == 1_234 && set.format == "bytes")
    #expect(set.expires.map { $0 > Date() } ?? false)
    #expect(abs(set.date.timeIntervalSinceNow) < 600)
    try cache.removeValue(forKey: "a\nb")
    let removed = try line(of: process)
    #expect(removed.change == "removed" && removed.key == "a\nb" && removed.size == nil)
    try cache.set("short", forKey: "short", expires: .after(.seconds(2)))
    #expect(try line(of: process).change == "set")
    let expired = try line(of: process)
    #expect(expired.change == "expired" && expired.key == "short")
    try cache.removeAll()
    let all = try line(of: process)
    #expect(all.change == "removed all" && all.key == nil)
    // A directory that is deleted and created again is followed. An open cache's next operation recreates it.
    try scratch.delete("cache")
    try writing("again", to: cache) {
      while true {
        let line = try line(of: process)
        if line.key == "again", line.change == "set" { break }
      }
    }
    interrupt(process)
    try cache.close()
  }

  @Test func linesAreForPeople() throws {
    let cache = try scratch.open()
    let process = try watch("--prefix", "user:")
    try begin(process, cache, key: "user:begin")
    try cache.set("x", forKey: "other")
    try cache.set(["name": "Ada"], forKey: "user:\u{1B}[2J")
    let line = try #require(process.readLine())
    let cells = line.split(separator: " ", omittingEmptySubsequences: true)
    #expect(cells.count == 5 && cells[0].hasSuffix("Z") && cells[0].contains("T"))
    #expect(cells[1...] == ["set", cells[2], "cbor", "user:\\u{1B}[2J"])
    #expect(!line.contains("\u{1B}"))
    interrupt(process, SIGTERM)
    try cache.close()
  }

  /// A watch that writes to a pipe, once it has opened the database.
  private func pipedWatch() throws -> (process: LaunchedProcess, reading: FileHandle, errors: URL) {
    let pipe = Pipe()
    let errors = URL(fileURLWithPath: try scratch.file("err", Data()))
    let process = try LaunchedProcess(
      Tool.executable, ["watch", "--cache", scratch.cache], input: .nullDevice, output: pipe.fileHandleForWriting,
      errors: FileHandle(forWritingTo: errors))
    try pipe.fileHandleForWriting.close()
    #expect(eventually { isWatching(process.identifier) })
    return (process, pipe.fileHandleForReading, errors)
  }

  /// It must notice a closed pipe without writing.
  @Test(arguments: [false, true]) func itEndsWhenNobodyReads(_ writes: Bool) throws {
    let cache = try scratch.open()
    let (process, reading, errors) = try pipedWatch()
    try reading.close()
    if writes { try cache.set("x", forKey: "x") }
    #expect(process.wait(until: Date() + 60) == .exit(0))
    #expect(try Data(contentsOf: errors).isEmpty)
    try cache.close()
  }

  @Test func watchingChangesNothingAndADeletedCacheIsAnError() throws {
    try scratch.fill(1)
    try? scratch.delete("cache/statistics")
    let image = try TreeImage(scratch.cache, except: ["lock.mdb"])
    let (process, reading, errors) = try pipedWatch()
    let after = try TreeImage(scratch.cache, except: ["lock.mdb"])
    #expect(image.losses(in: after) == [] && image.additions(in: after) == [])
    // The watch has begun once it reports a change: a deletion while it opens the cache is another error.
    let cache = try scratch.open()
    writing("begin", to: cache) { _ = reading.availableData }
    try cache.close()
    try scratch.delete("cache")
    #expect(process.wait(until: Date() + 60) == .exit(66))
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("no cache in"))
    try reading.close()
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
