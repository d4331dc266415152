import EFStorageCore
import TestSupport
import Testing

@Suite struct FailureRecordTests {
  private struct Failure: Error { let wish: LastWish }

  private static func failure(_ error: any Error) -> EFStorageFailure {
    EFStorageFailure(
      .storage, key: "FailureRecordTests", storage: Int.self, content: Int.self, underlying: error)
  }

  @Test func errorsAreReleasedAfterTheLock() {
    let record = FailureRecord()
    let seen = Guarded(0)
    func note() {
      record.note(
        Self.failure(
          Failure(
            wish: LastWish {
              record.clear()
              seen { $0 += record.last == nil ? 1 : 10 }
            })))
    }
    note()
    record.clear()
    #expect(seen.current == 1 && record.last == nil)
    note()
    #expect(record.last != nil)
    record.clear()
    #expect(seen.current == 2)
  }

  /// Not even by notifications in progress.
  @Test func whoHasCancelledIsNotCalled() {
    let observations = Guarded<[EFStorageFailure.Observation]>([])
    let calls = Guarded(0)
    for _ in 0..<2 {
      let observation = EFStorageFailure.observe { failure in
        guard failure.key == "FailureRecordTests" else { return }
        calls { $0 += 1 }
        for observation in observations.current { observation.cancel() }
      }
      observations { $0.append(observation) }
    }
    Self.failure(Failure(wish: LastWish {})).report()
    #expect(calls.current == 1)
  }
}
