import Reliability
import Testing

/// Runs the checker on histories with a known verdict.
@Suite struct HistoryCheckerTests {
  /// Times are in units of the bound.
  private static let bound: Int64 = 1_000

  private func set(
    _ value: UInt64, by process: Int, _ start: Double, _ end: Double, key: Int = 0, isCommitted: Bool = false,
    group: UInt32 = 0
  ) -> HistoryRecord {
    record(.set, value, process, start, end, key, isCommitted, group)
  }

  private func remove(by process: Int, _ start: Double, _ end: Double, isCommitted: Bool = false) -> HistoryRecord {
    record(.remove, 0, process, start, end, 0, isCommitted, 0)
  }

  private func read(
    _ value: UInt64, by process: Int, _ start: Double, _ end: Double, key: Int = 0, group: UInt32 = 0
  ) -> HistoryRecord {
    record(.read, value, process, start, end, key, false, group)
  }

  private func record(
    _ kind: HistoryRecord.Kind, _ value: UInt64, _ process: Int, _ start: Double, _ end: Double, _ key: Int,
    _ isCommitted: Bool, _ group: UInt32
  ) -> HistoryRecord {
    HistoryRecord(
      kind, key: key, value: value, process: process, start: Int64(start * Double(Self.bound)),
      end: Int64(end * Double(Self.bound)), isCommitted: isCommitted, group: group)
  }

  private func faults(_ records: HistoryRecord...) -> [HistoryFindings.Fault] {
    HistoryChecker(bound: Self.bound).check(records).faults.map(\.fault)
  }

  @Test func aWriteIsSeenByOthersWithinTheBound() {
    let findings = HistoryChecker(bound: Self.bound).check([
      set(1, by: 0, 0, 1), set(2, by: 0, 10, 11), read(1, by: 1, 11.9, 12), read(2, by: 1, 12.1, 13),
    ])
    #expect(findings.faults.isEmpty)
    #expect(findings.staleness == [900])
    #expect(findings.reads == 2)
    #expect(findings.writes == 2)
  }

  @Test func aStaleRead() {
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 0, 10, 11), read(1, by: 1, 12.1, 13)) == [.stale])
    // Another process's write that began when the first was certainly committed.
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 1, 2.1, 3), read(1, by: 2, 4.1, 5)) == [.stale])
  }

  @Test func writesOfTwoProcessesWithinTheBoundMayBeEitherWayRound() {
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 1, 1.9, 3), read(1, by: 2, 40, 50)).isEmpty)
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 1, 1.9, 3), read(2, by: 2, 40, 50)).isEmpty)
    // But one process's writes are ordered.
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 0, 1.9, 3), read(1, by: 2, 40, 50)) == [.stale])
  }

  @Test func aProcessSeesItsOwnWritesAtOnce() {
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 0, 2, 3), read(1, by: 0, 3.1, 4)) == [.stale])
    #expect(faults(set(1, by: 0, 0, 1), set(2, by: 0, 2, 3), read(1, by: 0, 2.9, 4)).isEmpty)
  }

  @Test func aCommittedWriteIsSeenByAllAtOnce() {
    #expect(
      faults(set(1, by: 0, 0, 1), set(2, by: 0, 2, 3, isCommitted: true), read(1, by: 1, 3.1, 4)) == [.stale])
    #expect(
      faults(set(1, by: 0, 0, 1, isCommitted: true), set(2, by: 1, 1.1, 3, isCommitted: true), read(1, by: 2, 3.1, 4))
        == [.stale])
  }

  @Test func aValueThatNobodyWrote() {
    #expect(faults(set(1, by: 0, 0, 1), read(3, by: 1, 2, 3)) == [.phantom])
    #expect(faults(set(1, by: 0, 5, 6), read(1, by: 1, 2, 3)) == [.phantom])
    #expect(faults(set(1, by: 0, 0, 1, key: 1), read(1, by: 1, 2, 3)) == [.phantom])
  }

  @Test func backwards() {
    // Within the bound either may come first, but not first, second, first.
    let writes = [set(1, by: 0, 0, 1), set(2, by: 1, 0, 1)]
    let checker = HistoryChecker(bound: Self.bound)
    let reads = [read(1, by: 2, 1.1, 1.2), read(2, by: 2, 1.3, 1.4), read(1, by: 2, 1.5, 1.6)]
    #expect(checker.check(writes + reads).faults.map(\.fault) == [.backwards])
    #expect(checker.check(writes + reads.dropLast()).faults.isEmpty)
    // Overlapping reads have no order.
    #expect(
      checker.check(writes + [read(1, by: 2, 1.1, 1.2), read(2, by: 2, 1.3, 1.7), read(1, by: 2, 1.5, 1.6)]).faults
        .isEmpty)
    // Reads of two processes have no order.
    #expect(
      checker.check(writes + [read(1, by: 2, 1.1, 1.2), read(2, by: 3, 1.3, 1.4), read(1, by: 2, 1.5, 1.6)]).faults
        .isEmpty)
  }

  @Test func aRemovedValueThatComesBack() {
    let records = [
      set(1, by: 0, 0, 1), remove(by: 1, 0, 1), read(1, by: 2, 1.1, 1.2), read(0, by: 2, 1.3, 1.4),
      read(1, by: 2, 1.5, 1.6),
    ]
    #expect(HistoryChecker(bound: Self.bound).check(records).faults.map(\.fault) == [.backwards])
    #expect(faults(set(1, by: 0, 0, 1), remove(by: 0, 2, 3), read(1, by: 1, 4.1, 5)) == [.stale])
    #expect(faults(set(1, by: 0, 0, 1), remove(by: 0, 2, 3), read(1, by: 1, 3.9, 5)).isEmpty)
  }

  @Test func aValueThatIsMissing() {
    #expect(faults(set(1, by: 0, 0, 1), read(0, by: 0, 1.1, 2)) == [.missing])
    #expect(faults(set(1, by: 0, 0, 1), read(0, by: 1, 1.9, 2)).isEmpty)
    #expect(faults(set(1, by: 0, 0, 1), read(0, by: 1, 2.1, 3)) == [.missing])
    // It may have been removed by then.
    #expect(faults(set(1, by: 0, 0, 1), remove(by: 1, 2, 9), read(0, by: 2, 3, 4)).isEmpty)
    // An earlier removal does not count, unless it may have been committed after the set.
    #expect(faults(remove(by: 0, 0, 1), set(1, by: 0, 2, 3), read(0, by: 2, 4.1, 5)) == [.missing])
    #expect(faults(remove(by: 1, 0, 1), set(1, by: 0, 1.9, 3), read(0, by: 2, 4.1, 5)).isEmpty)
    #expect(faults(remove(by: 1, 0, 1), set(1, by: 0, 2.1, 3), read(0, by: 2, 4.1, 5)) == [.missing])
  }

  @Test func aTornBatch() {
    let batch = [
      set(1, by: 0, 0, 1, isCommitted: true, group: 1), set(1, by: 0, 0, 1, key: 1, isCommitted: true, group: 1),
      set(2, by: 0, 2, 3, isCommitted: true, group: 2), set(2, by: 0, 2, 3, key: 1, isCommitted: true, group: 2),
    ]
    let checker = HistoryChecker(bound: Self.bound)
    let torn = [read(1, by: 1, 2, 3, group: 1), read(2, by: 1, 2, 3, key: 1, group: 1)]
    #expect(checker.check(batch + torn).faults.map(\.fault) == [.torn])
    let whole = [read(2, by: 1, 2, 3, group: 1), read(2, by: 1, 2, 3, key: 1, group: 1)]
    #expect(checker.check(batch + whole).faults.isEmpty)
  }

  // MARK: What is put where nothing is, and taken

  private func put(_ value: UInt64, by process: Int, _ start: Double, _ end: Double) -> HistoryRecord {
    record(.put, value, process, start, end, 0, false, 0)
  }

  private func take(_ value: UInt64, by process: Int, _ start: Double, _ end: Double) -> HistoryRecord {
    record(.take, value, process, start, end, 0, false, 0)
  }

  @Test func puttingAndTakingInTurn() {
    #expect(
      faults(
        take(0, by: 1, 0, 1), put(1, by: 0, 2, 3), put(0, by: 1, 4, 5), take(1, by: 1, 6, 7), take(0, by: 0, 8, 9),
        put(2, by: 1, 10, 11)
      ).isEmpty)
    // Overlapping operations may have either order.
    #expect(faults(put(1, by: 0, 0, 5), take(1, by: 1, 4, 9), put(2, by: 2, 5, 6), take(0, by: 0, 4, 5)).isEmpty)
    #expect(faults(put(1, by: 0, 0, 5), put(0, by: 1, 1, 2)).isEmpty)
  }

  @Test func whatTwoHaveTaken() {
    #expect(faults(put(1, by: 0, 0, 1), take(1, by: 1, 2, 3), take(1, by: 2, 2, 3)) == [.lost])
  }

  @Test func whatIsPutWhereSomethingIs() {
    #expect(faults(put(1, by: 0, 0, 1), put(2, by: 1, 2, 3), take(1, by: 0, 4, 5)) == [.lost])
    #expect(faults(put(1, by: 0, 0, 1), put(2, by: 1, 2, 3)) == [.lost])
  }

  @Test func whatIsNotFoundThoughItIsThere() {
    #expect(faults(put(1, by: 0, 0, 1), take(0, by: 1, 2, 3), take(1, by: 0, 4, 5)) == [.missing])
  }

  @Test func whatIsTakenThatNobodyPut() {
    #expect(faults(take(1, by: 0, 0, 1), put(1, by: 1, 2, 3)) == [.phantom])
  }

  @Test func whatIsRefusedForNothing() {
    #expect(faults(put(0, by: 0, 0, 1)) == [.phantom])
    #expect(faults(put(1, by: 0, 0, 1), take(1, by: 0, 2, 3), put(0, by: 1, 4, 5)) == [.phantom])
  }
}
