import Testing

@testable import lmdb_cache

@Suite struct FormattingTests {
  @Test(arguments: [
    (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (-1_000, "-1,000"), (-999, "-999"), (1_234_567, "1,234,567"),
    (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func numbersAreGrouped(_ number: Int, _ text: String) { #expect(Formatting.grouped(number) == text) }

  @Test(arguments: [
    ("plain key", "plain key"), ("日本語 é", "日本語 é"), ("a\nb\tc\\d\0", #"a\nb\tc\\d\0"#), ("\u{1B}[2J", #"\u{1B}[2J"#),
    ("a\u{2028}b\u{202E}", #"a\u{2028}b\u{202E}"#),
  ])
  func keysStayOnTheirLine(_ key: String, _ text: String) { #expect(Formatting.key(key) == text) }

  @Test func columnsAreAligned() {
    var table = TextTable([.left, .right])
    table.append(["a", "1"])
    table.append(["long", "1,000"])
    #expect(table.text == "a         1\nlong  1,000\n")
  }

  @Test func aVeryLongCellMovesOnlyItsOwnLine() {
    let long = String(repeating: "x", count: 60)
    var table = TextTable([.left, .left])
    table.append(["a", "1"])
    table.append([long, "2"])
    #expect(table.text == "a" + String(repeating: " ", count: 49) + "1\n" + long + "  2\n")
  }
}
