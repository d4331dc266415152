import Foundation
import Testing

@Suite struct WordCountTests {
  let scratch: Scratch
  let cache: String
  let texts: String

  init() throws {
    scratch = try Scratch()
    cache = scratch.path("cache")
    texts = scratch.path("texts")
    try FileManager.default.createDirectory(atPath: texts + "/inner", withIntermediateDirectories: true)
    try write("one two\nthree\n", "a.txt")
    try write("é 日本 🎉", "inner/b.txt")
    try Data([0xFF, 0xFE, 0]).write(to: URL(fileURLWithPath: texts + "/c.bin"))
  }

  func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(texts)/\(name)"))
  }

  func run(_ directory: String? = nil) throws -> Program.Result {
    try Program.run("word-count", directory ?? texts, "--cache", cache, "--top", "1")
  }

  @Test func aSecondRunReadsOnlyWhatHasChanged() throws {
    let first = try run()
    #expect(first.status == 0)
    #expect(first.lines.first?.hasPrefix("2 lines, 3 words, 14 characters ") == true)
    #expect(first.lines.contains("2 lines, 6 words, 20 characters in 2 texts"))
    #expect(first.lines.last?.hasPrefix("3 files were read") == true)

    let second = try run()
    #expect(second.lines.dropLast() == first.lines.dropLast())
    #expect(second.lines.last?.hasPrefix("0 files were read") == true)

    try write("one two three four\n", "a.txt")
    let third = try run()
    #expect(third.lines.contains("1 lines, 7 words, 25 characters in 2 texts"))
    #expect(third.lines.last?.hasPrefix("1 files were read") == true)
  }

  @Test func whatIsNotThereIsAnError() throws {
    #expect(try run(texts + "/nowhere").status == 64)
    #expect(try run(texts + "/a.txt").status == 64)
    #expect(try Program.run("word-count", texts, "--top", "-1").status == 64)
  }
}
