import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct LatencyHistogramTests {
  @Test func bucketsFollowEachOther() {
    var end = 16
    for bucket in 0..<LatencyHistogram.bucketCount {
      let (start, length) = LatencyHistogram.range(ofBucket: bucket)
      #expect(start == end)
      #expect(length * 8 > start && length * 4 <= start)
      #expect(LatencyHistogram.bucket(nanoseconds: Int64(start)) == bucket)
      #expect(LatencyHistogram.bucket(nanoseconds: Int64(start + length - 1)) == bucket)
      end = start + length
    }
  }

  @Test(arguments: [Int64.min, -1, 0, 1, 15]) func shortTimesAreInTheFirst(_ nanoseconds: Int64) {
    #expect(LatencyHistogram.bucket(nanoseconds: nanoseconds) == 0)
  }

  @Test(arguments: [Int64(1) << 37, Int64.max]) func longTimesAreInTheLast(_ nanoseconds: Int64) {
    #expect(LatencyHistogram.bucket(nanoseconds: nanoseconds) == LatencyHistogram.bucketCount - 1)
  }

  @Test(arguments: [UInt64(1), 2, 3]) func quantilesAreNearTheTrueOnes(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    var histogram = LatencyHistogram()
    // Values of all magnitudes.
    let times = (0..<10_000).map { _ in Int64(16) << Int64(random.below(30)) + Int64(random.below(1 << 10)) }.sorted()
    for time in times { histogram.record(nanoseconds: time) }
    #expect(histogram.count == 10_000)
    for part in [0.01, 0.5, 0.9, 0.99, 1] {
      let found = Double(try #require(histogram.quantile(part)))
      // Neighbors may be any distance apart.
      let rank = Int(part * 10_000)
      let (below, above) = (Double(times[max(0, rank - 2)]), Double(times[min(times.count - 1, rank + 1)]))
      #expect(found >= below * 0.75 && found <= above * 1.26, "\(part)")
    }
  }

  @Test func anEmptyOneHasNoQuantile() { #expect(LatencyHistogram().quantile(0.5) == nil) }

  @Test func aDifferenceIsOfWhatHasCome() {
    var before = LatencyHistogram()
    before.record(nanoseconds: 100)
    var after = before
    after.record(nanoseconds: 100)
    after.record(nanoseconds: 1_000_000)
    let difference = after.since(before)
    #expect(difference.count == 2)
    // A decrease means another process, so the difference is empty.
    #expect(before.since(after).count == 0)
    var sum = before
    sum.add(difference)
    #expect(sum == after)
  }

  @Test func recordersKeepWhatThreadsNote() async {
    let recorder = LatencyRecorder()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask { for time in 0..<1_000 { recorder.record(nanoseconds: Int64(time * (number + 1) * 10)) } }
      }
    }
    #expect(recorder.histogram.count == 4_000)
  }
}
