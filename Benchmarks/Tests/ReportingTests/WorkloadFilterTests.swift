import Testing

@testable import Reporting

@Suite struct WorkloadFilterTests {
  private let titles = [
    "memory.get.random 10 k keys", "disk.set 100 B, 20 k keys", "disk.set.batch1000 100 B, 20 k keys",
  ]

  @Test(arguments: [
    ("", [0, 1, 2]), ("disk", [1, 2]), ("disk.set 100 B", [1]), ("^memory|batch", [0, 2]), ("k keys$", [0, 1, 2]),
    ("Disk", []), ("disk\\.set\\b(?!\\.)", [1]),
  ])
  func selectsByTheExpressionAnywhereInTheTitle(_ text: String, _ places: [Int]) throws {
    let filter = try WorkloadFilter(text)
    #expect(titles.filter(filter.selects) == places.map { titles[$0] })
  }

  @Test func refusesWhatIsNoExpression() {
    #expect(throws: (any Error).self) { try WorkloadFilter("disk(") }
  }
}
