import Reliability
import Testing

/// `LMDBCachingTests` runs most of the model; this is the trial, and its second process.
@Suite struct ModelTests {
  @Test func theCacheIsADictionary() throws {
    let report = try shortTrial(ModelTrial.self, count: 4, seed: 101)
    for step in ["set", "get", "load", "batch", "child increment", "race", "failing", "crash", "killChild"] {
      #expect(report[step] > 0, "\(step)")
    }
  }
}
