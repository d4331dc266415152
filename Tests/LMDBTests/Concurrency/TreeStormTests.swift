import TestSupport
import Testing

@testable import LMDB

/// Searches during a writer that moves every page and grows the map: more threads than slots for readers or fewer, with
/// hints of all ages.
@Suite struct TreeStormTests {
  let directory = TemporaryDirectory()

  private static func key(_ index: Int) -> [UInt8] { bytes("key \(index * 7919 % 600)") }

  @Test(arguments: [1, 2, 8]) func everySnapshotIsWhole(_ slots: Int) throws {
    let environment = try directory.open { $0.readerPoolSize = slots }
    defer { environment.close() }
    let (isDone, found) = (Guarded(false), Guarded(0))
    try fill(environment, 0)
    concurrently(6) { thread in
      do {
        if thread == 0 {
          for round in 1..<60 {
            try fill(environment, round)
            if round % 20 == 0 { try environment.growMap(to: (64 + round) << 20) }
          }
          isDone { $0 = true }
          return
        }
        var random = SeededRandom(UInt64(thread))
        var last: UInt64 = 0
        while !isDone.current {
          try environment.withReadTransaction { (transaction) throws(LMDBError) in
            if transaction.id < last { Issue.record("of an older snapshot") }
            last = transaction.id
            // The round of this snapshot.
            let round = try transaction.value([1])
            for _ in 0..<20 {
              let index = Int.random(in: 0..<600, using: &random)
              let value = try transaction.value(Self.key(index))
              if let value {
                if Array(value.suffix(1)) != round { Issue.record("of another snapshot") }
                if Array(value.dropLast()) != Self.key(index) { Issue.record("of another key") }
                found { $0 += 1 }
              } else if index % 3 != 0 {
                Issue.record("lost")
              }
            }
          }
        }
      } catch {
        Issue.record(error)
        isDone { $0 = true }
      }
    }
    #expect(found.current > 0)
    // One per slot, and the one from opening, which is free again.
    #expect(try environment.info().readersInUse <= slots + 1)
  }

  private func fill(_ environment: Environment, _ round: Int) throws {
    let transaction = try environment.beginWrite()
    try transaction.put([UInt8(truncatingIfNeeded: round)], [1])
    for index in 0..<600 {
      if index % 3 == 0, round % 2 == 1 {
        _ = try transaction.remove(Self.key(index))
      } else {
        try transaction.put(Self.key(index) + [UInt8(truncatingIfNeeded: round)], Self.key(index))
      }
    }
    try transaction.commit()
  }
}
