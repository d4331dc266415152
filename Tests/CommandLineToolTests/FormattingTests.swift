import Testing

@testable import lmdb_cache

@Suite struct FormattingTests {
  private static let texts: [(String, String)] = [
    (Formatting.grouped(999), "999"), (Formatting.grouped(-1_000), "-1,000"),
    (Formatting.grouped(1_234_567), "1,234,567"),
    (Formatting.grouped(Int.min), "-9,223,372,036,854,775,808"),
    (Formatting.bytes(999), "999 B"), (Formatting.bytes(1_234), "1.23 kB"), (Formatting.bytes(9_996), "10.0 kB"),
    (Formatting.bytes(99_960), "100 kB"), (Formatting.bytes(999_500), "1.00 MB"), (Formatting.bytes(.max), "9.22 EB"),
    (Formatting.bytes(-5), "-5 B"),
    (Formatting.time(nanoseconds: 999), "999 ns"), (Formatting.time(nanoseconds: 45_600), "45.6 µs"),
    (Formatting.time(nanoseconds: 999_600), "1.00 ms"), (Formatting.time(nanoseconds: 137_438_953_472_000), "137439 s"),
    (Formatting.rate(0.04), "0.0"), (Formatting.rate(3), "3"), (Formatting.rate(9.96), "10"),
    (Formatting.rate(12_345.6), "12,346"), (Formatting.rate(1e16), "-"), (Formatting.rate(.nan), "-"),
    (Formatting.age(seconds: -1), "0 s"), (Formatting.age(seconds: 60), "1 min"),
    (Formatting.age(seconds: 3_600), "1 h 0 min"), (Formatting.age(seconds: 90_000), "1 d 1 h"),
    (Formatting.key("日本語 é"), "日本語 é"), (Formatting.key("a\nb\tc\\d\0\u{1B}[2J"), #"a\nb\tc\\d\0\u{1B}[2J"#),
    (Formatting.key("a\u{2028}b\u{202E}"), #"a\u{2028}b\u{202E}"#),
    (Formatting.message("one \\n\u{1B}[2J\rtwo\nthree"), #"one \n\u{1B}[2J\rtwo"# + "\n  three"),
    (Formatting.line("one \\n\u{1B}[2J\rtwo\nthree"), #"one \n\u{1B}[2J\rtwo\nthree"#),
    (Sparkline.text([0, 1, 4, 7, 8], width: 10, isUnicode: true), "▁▂▅██"),
    (Sparkline.text([0, 8], width: 10, isUnicode: false), "_#"),
    (Sparkline.text([nil, 0.5, 1, 2, -1, .nan], width: 10, greatest: 1, isUnicode: true), " ▅██▁ "),
    (Sparkline.text([1, 2, 3], width: 2, isUnicode: true), "▆█"), (Sparkline.text([1], width: -4, isUnicode: true), ""),
  ]

  @Test(arguments: texts) func textIsShortAndSafe(_ text: String, _ expected: String) { #expect(text == expected) }

  @Test func columnsAreAlignedUnlessACellIsVeryLong() {
    for (cell, spaces) in [("long", 9), (String(repeating: "x", count: 60), 53)] {
      var table = TextTable([.left, .right])
      table.append(["a", "1"])
      table.append([cell, "1,000"])
      #expect(table.text == "a" + String(repeating: " ", count: spaces) + "1\n" + cell + "  1,000\n")
    }
  }
}
