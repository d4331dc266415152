import Foundation
import Testing

@testable import LMDBCaching

/// Random operations against a dictionary.
@Suite struct ModelTests {
  static let seeds: [UInt64] = Array(1...10)

  @Test(arguments: seeds) func theCacheIsADictionary(_ seed: UInt64) throws {
    let model = try CacheModel(seed: seed)
    do {
      for step in 0..<1_500 { try model.step(step) }
      try model.end()
    } catch {
      Issue.record("seed \(seed), after \(model.log.suffix(8)): \(error)")
    }
  }
}
