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

  @Test func readersMeetWholeBlocksOnly() throws {
    let process = try cacheProcess()
    #expect(process.run("open \(directory.path)") == "ok")
    #expect(try eventually { try read().processes.count == 1 })
    let name = files[0]
    let blocks = [1, 2].map { StatisticsBlock.bytes(StatisticsBlockTests.statistics($0), number: $0) }
    let expected = [UInt64(1), 2].map { StatisticsBlockTests.statistics($0).statistics }
    // Publishes in place of the idle owner.
    let isDone = Guarded(false)
    let writer = DispatchGroup()
    inBackground(writer) { [directory] in
      let handle = FileHandle(forUpdatingAtPath: directory.path + "/statistics/" + name)!
      var number = 0
      while !isDone.current {
        try! handle.seek(toOffset: 0)
        handle.write(Data(blocks[number % 2]))
        number += 1
      }
    }
    var met = 0
    for _ in 0..<2_000 {
      let activity = try read()
      for process in activity.processes where process.process == 4_711 {
        met += 1
        #expect(expected.contains(process.statistics))
      }
    }
    isDone { $0 = true }
    writer.wait()
    #expect(met > 100)
    process.end()
  }
}
