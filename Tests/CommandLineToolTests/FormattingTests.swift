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

  @Test func messagesKeepTheirLinesAndNobodyElses() {
    let text = "first \\n\u{1B}[2J\rsecond\nthird"
    #expect(Formatting.message(text) == #"first \n\u{1B}[2J\rsecond"# + "\n  third")
    #expect(Formatting.line(text) == #"first \n\u{1B}[2J\rsecond\nthird"#)
  }

  @Test(arguments: [
    (0, "0 B"), (999, "999 B"), (1_000, "1.00 kB"), (1_234, "1.23 kB"), (9_994, "9.99 kB"), (9_996, "10.0 kB"),
    (99_960, "100 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"), (16_785_408, "16.8 MB"), (Int.max, "9.22 EB"),
    (-5, "-5 B"),
  ])
  func bytesAreScaled(_ bytes: Int, _ text: String) { #expect(Formatting.bytes(bytes) == text) }

  @Test(arguments: [
    (0, "0 ns"), (87, "87 ns"), (999, "999 ns"), (1_000, "1.00 µs"), (45_600, "45.6 µs"), (999_600, "1.00 ms"),
    (12_300_000_000, "12.3 s"), (137_438_953_472_000, "137439 s"),
  ])
  func timesAreScaled(_ nanoseconds: Int, _ text: String) { #expect(Formatting.time(nanoseconds: nanoseconds) == text) }

  @Test(arguments: [
    (0, "0"), (0.04, "0.0"), (0.5, "0.5"), (3, "3"), (9.94, "9.9"), (9.96, "10"), (12_345.6, "12,346"), (1e16, "-"),
    (.infinity, "-"), (.nan, "-"),
  ])
  func ratesAreShort(_ rate: Double, _ text: String) { #expect(Formatting.rate(rate) == text) }

  @Test(arguments: [
    (-1, "0 s"), (59, "59 s"), (60, "1 min"), (3_599, "59 min"), (3_600, "1 h 0 min"), (90_000, "1 d 1 h"),
  ])
  func agesHaveTwoUnits(_ seconds: Int, _ text: String) { #expect(Formatting.age(seconds: seconds) == text) }

  @Test func barsAreAsHighAsTheirNumbers() {
    #expect(Sparkline.text([0, 1, 4, 7, 8], width: 10, isUnicode: true) == "▁▂▅██")
    #expect(Sparkline.text([0, 8], width: 10, isUnicode: false) == "_#")
    #expect(Sparkline.text([nil, 0.5, 1, 2, -1, .nan], width: 10, greatest: 1, isUnicode: true) == " ▅██▁ ")
    #expect(Sparkline.text([1, 2, 3], width: 2, isUnicode: true) == "▆█")
    #expect(Sparkline.text([1, 2, 3], width: -4, isUnicode: true) == "")
    #expect(Sparkline.text([0, 0], width: 4, isUnicode: true) == "▁▁")
    #expect(Sparkline.text([nil, nil], width: 4, isUnicode: true) == "  ")
  }

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
