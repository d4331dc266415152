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
    for process in [first, second] {
      #expect(process.run("open \(directory.path)") == "ok" && process.run("set key v") == "ok")
    }
    #expect(try eventually { try read().processes.map(\.statistics.sets) == [1, 1] })
    #expect(try read().processes.map(\.process) == [first.identifier, second.identifier])
    #expect(try read().statistics.sets == 2 && read().processes[0].name == "CacheTestProcess")
    // A suspended process publishes nothing new, but is listed.
    first.suspend()
    #expect(try read().processes.count == 2)
    first.resume()
    // A killed process's statistics are ignored, and the next opening sweeps their file.
    second.kill()
    #expect(try eventually { try read().processes.map(\.process) == [first.identifier] } && files.count == 2)
    let third = try cacheProcess()
    #expect(third.run("open \(directory.path)") == "ok")
    #expect(try eventually { try read().processes.map(\.process) == [first.identifier, third.identifier] })
    #expect(eventually { files.count == 2 })
    for process in [third, first] { #expect(process.run("close") == "ok") }
    #expect(files == [])
  }
}
