import Foundation
import LMDBCaching
import Testing

/// Optimized code has released what a batch keeps once more than it had retained it, which other tests, without
/// optimization, cannot find.
@Suite struct ReleasedBatchTests {
  private final class Reversal: ValueTransform {
    let identifier: UInt8 = 200

    func apply(to bytes: Data, _ context: ValueTransformContext) -> Data? { Data(bytes.reversed()) }
    func restore(_ bytes: Data, _ context: ValueTransformContext) -> Data { Data(bytes.reversed()) }
  }

  @Test func batchesAndSnapshotsLeaveTheirCacheWhatItHas() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("batches-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    for round in 0..<20 {
      var configuration = CacheConfiguration()
      configuration.valueTransforms = [Reversal()]
      let cache = try LMDBCache(directory: directory, configuration: configuration)
      for number in 0..<50 {
        try cache.write { batch in
          for key in 0..<4 { batch.set("value \(round) \(number) \(key)", forKey: "key \(key)") }
        }
        let found = try cache.read { try $0.value(String.self, forKey: "key 3") }
        #expect(found == "value \(round) \(number) 3")
      }
      // What is freed too early is somebody else's by now.
      let others = (0..<200).map { NSMutableString(string: "\($0)") }
      #expect(try cache.value(String.self, forKey: "key 0") == "value \(round) 49 0")
      try cache.close()
      #expect(others.count == 200)
    }
  }
}
