import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Statistics of several processes, and of those that have died.
@Suite struct StatisticsProcessTests {
  let directory = CacheDirectory()

  private func read() throws -> CacheActivity { try CacheActivity.read(path: directory.path) }

  private var files: [String] { directory.names(in: "statistics") }

  @Test func eachProcessIsShownAsLongAsItLives() throws {
    let (first, second) = (try cacheProcess(), try cacheProcess())
    #expect(first.run("open \(directory.path)") == "ok")
    #expect(second.run("open \(directory.path)") == "ok")
    #expect(first.run("set a 1") == "ok")
    #expect(second.run("set b 2") == "ok")
    #expect(second.run("set c 3") == "ok")
    #expect(second.run("flush") == "ok")
    #expect(
      try eventually { try read().processes.map(\.statistics.sets) == [1, 2] && read().latestCount?.diskCount == 3 })
    #expect(try read().processes.map(\.process) == [first.identifier, second.identifier])
    #expect(try read().processes.allSatisfy { $0.name == "CacheTestProcess" })
    #expect(try read().statistics.sets == 3)

    // A suspended process publishes nothing new, but is listed.
    first.suspend()
    #expect(try read().processes.count == 2)
    first.resume()

    // A killed process's statistics are ignored, although the file exists.
    second.kill()
    #expect(try eventually { try read().processes.map(\.process) == [first.identifier] })
    #expect(files.count == 2)
    // The next opening sweeps it.
    let third = try cacheProcess()
    #expect(third.run("open \(directory.path)") == "ok")
    #expect(try eventually { try read().processes.map(\.process) == [first.identifier, third.identifier] })
    #expect(eventually { files.count == 2 })
    #expect(third.run("close") == "ok")
    #expect(try read().processes.map(\.process) == [first.identifier])
    #expect(first.run("close") == "ok")
    #expect(files == [])
  }
}
