import Foundation
import Testing

@testable import Workloads

@Suite struct TraceTests {
  /// The short traces; the long ones are held against their goals by the benchmark.
  @Test(arguments: [("web12", 100, 0.576), ("web12", 10, 0.278), ("web07", 100, 0.562), ("web07", 10, 0.425)])
  func missesAreWithinTheGoal(_ name: String, _ part: Int, _ limit: Double) throws {
    let traces = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Traces")
    let requests = try Trace.load(traces.appendingPathComponent("\(name).trace.xz"))
    let cache = OwnTraceCache(capacity: Set(requests).count / part)
    var misses = 0
    for key in requests where !cache.contains(key) {
      misses += 1
      cache.insert(key)
    }
    #expect(Double(misses) <= limit * Double(requests.count))
  }
}
