import Foundation
import Testing

@testable import lmdb_cache

@Suite struct InspectorPartsTests {
  @Test func aQuestionIsAnsweredOnceAndInTime() {
    let confirmations = InspectorConfirmations()
    let second: UInt64 = 1_000_000_000
    let change = InspectorChange.removal(key: "key")
    let late = confirmations.ask(about: change, now: 0).text
    #expect(!confirmations.take(late, for: change, now: 60 * second))
    let code = confirmations.ask(about: change, now: 0).text
    #expect(!confirmations.take("", for: change, now: 1))
    #expect(!confirmations.take(code, for: .removal(key: "other"), now: 1))
    #expect(!confirmations.take(code, for: .trim(TrimLimits(count: 1, cost: nil, age: nil)), now: 1))
    #expect(confirmations.take(code, for: change, now: 60 * second - 1))
    #expect(!confirmations.take(code, for: change, now: 1))
    // Old questions are dropped beyond a limit.
    let codes = (0..<17).map { _ in confirmations.ask(about: change, now: 0).text }
    #expect(!confirmations.take(codes[0], for: change, now: 1))
    #expect(confirmations.take(codes[16], for: change, now: 1))
  }

  /// Keys that Swift considers equal strings are still distinct.
  @Test func anAnswerIsForTheBytesOfAKey() {
    let confirmations = InspectorConfirmations()
    let code = confirmations.ask(about: .removal(key: "\u{E9}"), now: 0).text
    #expect(!confirmations.take(code, for: .removal(key: "e\u{301}"), now: 1))
    #expect(confirmations.take(code, for: .removal(key: "\u{E9}"), now: 1))
  }

  @Test func tokensDifferAndMatchThemselves() {
    let tokens = (0..<100).map { _ in InspectorToken() }
    #expect(Set(tokens.map(\.text)).count == 100)
    for token in tokens {
      #expect(token.text.count == 32 && token.matches(token.text))
      #expect(!token.matches("") && !token.matches(String(token.text.dropLast())) && !token.matches(token.text + "0"))
      #expect(!token.matches(String(token.text.dropLast()) + "x"))
    }
  }

  @Test(arguments: [
    ("", ""), ("1", "1"), ("[]", "[]"), ("{ }", "{}"), ("[1]", "[\n  1\n]"), ("[[],{}]", "[\n  [],\n  {}\n]"),
    (#"{"a" : "b, c"}"#, "{\n  \"a\" : \"b, c\"\n}"), (#"["\"]"]"#, "[\n  \"\\\"]\"\n]"),
    ("]]]", "\n]\n]\n]"),
  ])
  func notationIsIndented(_ source: String, text: String) {
    let notation = IndentedNotation(source, limit: 1_000)
    #expect(notation.text == text && !notation.isCut)
  }

  @Test func aLongNotationIsCutBetweenCharacters() {
    for limit in 10..<20 {
      let notation = IndentedNotation("[\"" + String(repeating: "ä🔑", count: 100) + "\"]", limit: limit)
      #expect(notation.isCut && notation.text.utf8.count <= limit + 4)
      #expect(!notation.text.contains("\u{FFFD}"))
    }
    let deep = IndentedNotation(String(repeating: "[", count: 100_000), limit: 50_000)
    #expect(deep.text.utf8.count < 60_000)
  }

  @Test func bytesAreDumped() {
    #expect(HexDump.text([]) == "")
    let text = HexDump.text(UInt8(0)...32)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[0] == "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  ................")
    #expect(lines[2].hasPrefix("00000020  20 ") && lines[2].hasSuffix("    "))
  }

  @Test func imagesAreKnownByHowTheyBegin() {
    #expect(ImageKind(Data([0xFF, 0xD8, 0xFF, 0xE0])) == .jpeg)
    #expect(ImageKind(Data("GIF89a".utf8)) == .gif)
    #expect(ImageKind(Data("RIFF0000WEBP".utf8)) == .webp)
    for text in ["", "GIF", "RIFF0000WAVE", "<svg>", "BM"] { #expect(ImageKind(Data(text.utf8)) == nil) }
  }
}
