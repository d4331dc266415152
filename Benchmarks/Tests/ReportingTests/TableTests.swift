import Testing

@testable import Reporting

@Suite struct TableTests {
  @Test func ratiosAreToTheFirstSubjectWithAsManyThreads() {
    let table = Table(
      "w 10 keys",
      [
        result("w", "own", 100), result("w", "own", 300, threads: 2), result("w", "peer", 250),
        result("w", "peer", 150, threads: 2),
      ])
    let lines = table.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "w 10 keys", "threads min median ratio", "own 1 100 ns 100 ns 1 ×", "own 2 300 ns 300 ns 1 ×",
        "peer 1 250 ns 250 ns 2.5 ×", "peer 2 150 ns 150 ns 0.5 ×",
      ])
  }

  @Test(arguments: [
    (5.126, "5.13 ns"), (123.4, "123 ns"), (9_999, "9999 ns"), (45_600, "45.6 µs"), (2_500_000, "2500 µs"),
    (12_000_000, "12 ms"), (3_210_000_000, "3.21 s"),
  ])
  func timesHaveThreeDigits(_ nanoseconds: Double, _ text: String) {
    #expect(Table.time(nanoseconds) == text)
  }

  @Test(arguments: [
    (Parameters(keys: 200_000), "200 k keys"),
    (Parameters(keys: 1_000_000, capacity: 100_000), "1 M keys, capacity 100 k"),
    (Parameters(keys: 250, valueSize: 100), "100 B, 250 keys"),
    (Parameters(keys: 20, valueSize: 102_400), "100 KB, 20 keys"),
    (Parameters(valueSize: 4096), "4 KB"), (Parameters(content: "1 %"), "1 %"), (Parameters(), ""),
  ])
  func parametersAreShort(_ parameters: Parameters, _ text: String) {
    #expect(parameters.description == text)
  }
}
