import Testing

@testable import lmdb_cache

/// Security decisions of the inspector that no request can try: they need a clock, or many tokens.
@Suite struct InspectorPartsTests {
  @Test func aQuestionIsAnsweredOnceAndInTime() {
    let confirmations = InspectorConfirmations()
    let minute: UInt64 = 60_000_000_000
    let change = InspectorChange.removal(key: "\u{E9}")
    let late = confirmations.ask(about: change, now: 0).text
    #expect(!confirmations.take(late, for: change, now: minute))
    let code = confirmations.ask(about: change, now: 0).text
    #expect(!confirmations.take("", for: change, now: 1))
    // A key of other bytes that is an equal string.
    #expect(!confirmations.take(code, for: .removal(key: "e\u{301}"), now: 1))
    #expect(!confirmations.take(code, for: .trim(TrimLimits(count: 1, cost: nil, age: nil)), now: 1))
    #expect(confirmations.take(code, for: change, now: minute - 1))
    #expect(!confirmations.take(code, for: change, now: 1))
    // Old questions are dropped beyond a limit.
    let codes = (0..<17).map { _ in confirmations.ask(about: change, now: 0).text }
    #expect(!confirmations.take(codes[0], for: change, now: 1) && confirmations.take(codes[16], for: change, now: 1))
  }

  @Test func tokensDifferAndMatchThemselves() {
    let tokens = (0..<100).map { _ in InspectorToken() }
    #expect(Set(tokens.map(\.text)).count == 100)
    for token in tokens {
      let start = String(token.text.dropLast())
      #expect(token.text.count == 32 && token.matches(token.text))
      for other in ["", start, token.text + "0", start + "x"] { #expect(!token.matches(other)) }
    }
  }
}
