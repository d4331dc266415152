import Reliability
import Testing

/// A failing seed's message has everything to reproduce it.
@Suite struct ModelTests {
  @Test(arguments: [1, 4, 7, 10, 13] as [UInt64]) func theCacheIsADictionary(_ seed: UInt64) throws {
    let report = try shortTrial(ModelTrial.self, count: 3, seed: seed)
    #expect(report["steps"] == 4_500)
    let steps = [
      "set", "get", "batch", "snapshot", "reopen", "crash", "trim", "setClock", "keepLimits", "load", "touch",
      "setIfAbsent", "compareAndSet", "compareAndRemove", "update", "setUnchanged", "slide", "take", "exchange",
      "setTagged", "removeTags",
    ]
    for step in steps {
      #expect(report[step] > 0, "\(step)")
    }
  }
}
