import TestSupport
import Testing

@testable import LMDBCaching

/// Metrics run in a child process, because a metrics system cannot be uninstalled.
@Suite struct MetricsTests {
  let directory = CacheDirectory()

  @Test func countersTimersAndGaugesAreReported() throws {
    let child = try cacheProcess()
    func expect(_ command: String, _ answer: String, at location: SourceLocation = #_sourceLocation) {
      #expect(child.run(command) == answer, sourceLocation: location)
    }
    expect("open \(directory.path)", "ok")
    expect("loads key 100 1", "100")
    expect("loads key 50 1", "0")
    expect("counter loads", "0")
    // Caches opened before the metrics system report their earlier activity too.
    expect("measure", "ok")
    expect("measure 20", "ok")
    #expect(eventually { child.run("counter loads") == "100" })
    // Repeated reports count once.
    #expect(eventually { child.run("gauge entries") == "100" })
    expect("loads other 10 1", "10")
    #expect(eventually { child.run("counter loads") == "110" })
    #expect(eventually { child.run("timer load_duration") == "10" })
    #expect(eventually { child.run("gauge entries") == "110" })
    #expect(eventually { Int(child.run("timer commit_duration") ?? "") ?? 0 > 0 })
    expect("counter memory_hits", "50")
    expect("counter failed_loads", "0")
    expect("measure 0", "ok")
    expect("get key0", "key0")
    expect("close", "ok")
    expect("counter memory_hits", "51")
    expect("counter misses", "110")
    #expect(Int(child.run("counter commits") ?? "") ?? 0 > 0)
    expect("counter committed_writes", "110")
    expect("gauge entries", "none")
    child.end()
  }
}
