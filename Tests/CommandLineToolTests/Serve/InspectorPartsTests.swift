import Testing

@testable import lmdb_cache

/// Confirmations need a clock, which no request can set.
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
}
