import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct SuspensionTests {
  let directory = CacheDirectory()

  /// Runs `body`, and expects it to end within a few lock timeouts.
  private func bounded<R>(_ body: () throws -> R) rethrows -> R {
    let start = ContinuousClock.now
    defer { #expect(ContinuousClock.now - start < .seconds(15)) }
    return try body()
  }

  @Test(arguments: [true, false]) func nobodyHangsAndNothingIsLost(_ isContinued: Bool) throws {
    let cache = try directory.open {
      $0.disk.groupCommitInterval = .milliseconds(5)
      $0.disk.lockTimeout = .milliseconds(200)
      $0.disk.journalSize = 1 << 20
    }
    try cache.set("committed", forKey: "first")
    try cache.flush()
    let writer = try cacheProcess()
    #expect(writer.run("open \(directory.path)") == "ok")
    #expect(writer.run("stopwriting") == "stopping")
    writer.awaitSuspension()
    for index in 0..<50 { try bounded { try cache.set(index, forKey: "k\(index)") } }
    #expect(try bounded { try cache.value(String.self, forKey: "first") } == "committed")
    #expect(bounded { errorCode { try cache.flush() } } == .notCommitted)
    #expect(
      bounded { errorCode { try cache.write(waitsForCommit: true) { $0.set(1, forKey: "batch") } } } == .notCommitted)
    #expect(bounded { errorCode { try cache.trim(to: .count(1)) } } != nil)
    guard case .memoryOnly(let error) = cache.health else {
      Issue.record("\(cache.health)")
      return
    }
    #expect(error.code == .lockTimeout)
    #expect(error.message.contains("kill -CONT \(writer.identifier)"))
    let other = try cacheProcess()
    // After its end, another process replays its journal.
    for (line, answer) in [
      ("open \(directory.path) locktimeout=200", "ok"), ("get first", "committed"), ("set theirs 1", "ok"),
      ("flush", "error notCommitted"), ("health", "memoryOnly lockTimeout"), ("close", "error notCommitted"),
    ] { #expect(bounded { other.run(line) } == answer) }
    if isContinued {
      writer.resume()
      #expect(writer.readLine() == "ok")
    } else {
      writer.kill()
    }
    #expect(eventually { cache.health.isHealthy })
    try cache.flush()
    for index in 0..<50 { #expect(try cache.withoutMemory.value(Int.self, forKey: "k\(index)") == index) }
    #expect(try cache.value(Int.self, forKey: "batch") == 1)
    #expect(try eventually { try cache.value(String.self, forKey: "theirs") == "1" })
    try cache.close()
  }

  @Test func anOpeningNamesTheProcessThatItDoesNotWaitFor() throws {
    let opener = try cacheProcess()
    #expect(opener.run("stopopening \(directory.path)") == "stopping")
    opener.awaitSuspension()
    let error = #expect(throws: CacheError.self) {
      try bounded { try directory.open { $0.disk.lockTimeout = .milliseconds(100) } }
    }
    #expect(error?.code == .lockTimeout)
    #expect(error?.message.contains("kill -CONT \(opener.identifier)") == true)
    opener.resume()
    #expect(opener.readLine() == "ok")
  }
}
