import Testing

@testable import Reporting

@Suite struct MedianTests {
  @Test(
    arguments: [
      ([3.0], 3.0), ([4, 2], 3), ([9, 1, 5], 5), ([1, 100, 2, 3], 2.5), ([7, 7, 7, 1000, 0], 7),
    ] as [([Double], Double)])
  func isTheMiddleInAnyOrder(_ numbers: [Double], _ expected: Double) {
    #expect(numbers.median == expected)
    #expect(Array(numbers.reversed()).median == expected)
  }

  @Test func timesHaveTheLeastAndTheMedian() {
    let times = SubjectResult.Times([30, 10, 50, 20])
    #expect(times.min == 10)
    #expect(times.median == 25)
  }
}
