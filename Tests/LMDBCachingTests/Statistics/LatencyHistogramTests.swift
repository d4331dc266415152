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

  /// The indices timed on a new thread, for operations at these times.
  private static func samples(_ kind: UInt32, _ times: some Sequence<Int64> & Sendable) -> [Int] {
    onThread(stack: 1 << 20) {
      times.enumerated().compactMap { number, time -> Int? in
        if cplatform_is_sample(kind) == 0 { return nil }
        cplatform_did_sample(kind, time)
        return number
      }
    }
  }

  private static func times(_ count: Int64, every nanoseconds: Int64) -> some Sequence<Int64> & Sendable {
    stride(from: 1_000_000_000, to: 1_000_000_000 + count * nanoseconds, by: Int(nanoseconds))
  }

  @Test func fewOfManyAreTimed() throws {
    let samples = Self.samples(0, Self.times(2_000_000, every: 50))
    #expect((1_500...3_000).contains(samples.count), "\(samples.count)")
    // Sampling is not periodic.
    let distances = zip(samples, samples.dropFirst()).map { $1 - $0 }.suffix(1_000)
    #expect(distances.allSatisfy { $0 >= 1 && $0 < 2_048 })
    #expect(Set(distances).count > 500)
  }

  @Test func operationsAfterPausesAreTimed() {
    let few = Self.samples(0, Self.times(1_000, every: 10_000_000))
    // All of few, except the first.
    #expect(few.first == 63 && few.suffix(100) == Array(900..<1_000)[...])
    let second = Int64(1_000_000_000)
    let bursts = (Int64(0)..<200_000).map { number -> Int64 in
      (1 + number / 1_000) * second + (number + 1) * 100
    }
    let count = Self.samples(1, bursts).count
    // Rate 1 in 1,024 gives 195; timing each burst's first dozen would give more than 2,400.
    #expect((100...1_200).contains(count), "\(count)")
  }
}
