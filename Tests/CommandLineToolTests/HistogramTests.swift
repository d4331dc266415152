import Testing

@testable import lmdb_cache

@Suite struct HistogramTests {
  @Test func smallValuesAreExact() {
    var histogram = Histogram()
    for value in 0..<256 as Range<UInt64> { histogram.record(value) }
    #expect(histogram.count == 256 && histogram.maximum == 255)
    for value in 0..<256 as Range<UInt64> { #expect(histogram.quantile(Double(value + 1) / 256) == value) }
  }

  @Test func noValueIsOffByMoreThanHalfAPercent() throws {
    for exponent in 0..<40 as Range<UInt64> {
      for part in stride(from: 0, through: 1023, by: 31) as StrideThrough<UInt64> {
        let value = (1 << exponent) + ((1 << exponent) * part) >> 10
        var histogram = Histogram()
        histogram.record(value)
        histogram.record(Histogram.greatest)
        let read = try #require(histogram.quantile(0.5))
        #expect(abs(Double(read) - Double(value)) <= Double(value) * 0.004, "\(value) is read as \(read)")
      }
    }
  }

  @Test func quantilesAreOfTheNearestRank() {
    var histogram = Histogram()
    for _ in 0..<98 { histogram.record(10) }
    histogram.record(100)
    histogram.record(200)
    #expect(histogram.quantile(0) == 10 && histogram.quantile(0.5) == 10 && histogram.quantile(0.98) == 10)
    #expect(histogram.quantile(0.99) == 100 && histogram.quantile(0.999) == 200 && histogram.quantile(1) == 200)
  }

  @Test func nothingHasNoQuantile() { #expect(Histogram().quantile(0.5) == nil) }

  @Test func whatIsTooLongCountsAsTheGreatest() {
    var histogram = Histogram()
    histogram.record(.max)
    #expect(histogram.count == 1)
    #expect(histogram.quantile(1)! >= Histogram.greatest / 100 * 99)
  }

  @Test func histogramsAreAdded() {
    var first = Histogram()
    var second = Histogram()
    first.record(1)
    second.record(3)
    second.record(5)
    first.add(second)
    #expect(first.count == 3 && first.maximum == 5 && first.quantile(0.5) == 3)
  }
}
