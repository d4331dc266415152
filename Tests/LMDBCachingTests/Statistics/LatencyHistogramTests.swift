import CPlatform
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// The algorithms behind latencies: buckets, and the choice of the operations that are timed.
@Suite struct LatencyHistogramTests {
  @Test func bucketsFollowEachOther() {
    var end = 16
    for bucket in 0..<LatencyHistogram.bucketCount {
      let (start, length) = LatencyHistogram.range(ofBucket: bucket)
      #expect(start == end && length * 8 > start && length * 4 <= start)
      #expect(LatencyHistogram.bucket(nanoseconds: Int64(start)) == bucket)
      #expect(LatencyHistogram.bucket(nanoseconds: Int64(start + length - 1)) == bucket)
      end = start + length
    }
    for time in [Int64.min, -1, 0, 1, 15] { #expect(LatencyHistogram.bucket(nanoseconds: time) == 0) }
    for time in [Int64(1) << 37, .max] {
      #expect(LatencyHistogram.bucket(nanoseconds: time) == LatencyHistogram.bucketCount - 1)
    }
  }

  @Test(arguments: [UInt64(1), 2, 3]) func quantilesAreNearTheTrueOnes(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let recorder = LatencyRecorder()
    // Values of all magnitudes.
    let times = (0..<10_000).map { _ in Int64(16) << Int64(random.below(30)) + Int64(random.below(1 << 10)) }.sorted()
    concurrently(4) { thread in
      for index in stride(from: thread, to: times.count, by: 4) { recorder.record(nanoseconds: times[index]) }
    }
    let histogram = recorder.histogram
    #expect(histogram.count == 10_000)
    for part in [0.01, 0.5, 0.9, 0.99, 1] {
      let found = Double(try #require(histogram.quantile(part)))
      // Neighbors may be any distance apart.
      let rank = Int(part * 10_000)
      let (below, above) = (Double(times[max(0, rank - 2)]), Double(times[min(times.count - 1, rank + 1)]))
      #expect(found >= below * 0.75 && found <= above * 1.26, "\(part)")
    }
    #expect(LatencyHistogram().quantile(0.5) == nil)
  }

  // MARK: Sampling

  @Test func fewOfManyAreTimed() {
    // On a new thread, which has timed none.
    let samples = onThread(stack: 1 << 20) {
      (0..<2_000_000).filter { number in
        if cplatform_is_sample(0) == 0 { return false }
        cplatform_did_sample(0, 1_000_000_000 + Int64(number) * 50)
        return true
      }
    }
    #expect((1_500...3_000).contains(samples.count), "\(samples.count)")
    // Sampling is not periodic.
    let distances = zip(samples, samples.dropFirst()).map { $1 - $0 }.suffix(1_000)
    #expect(distances.allSatisfy { $0 >= 1 && $0 < 2_048 })
    #expect(Set(distances).count > 500)
  }
}
