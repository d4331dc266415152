import CReference
import LMDBCaching
import Reporting
import Synchronization

/// Memory of an entry beyond its key and value, which are inline integers.
enum MemoryFootprint {
  static func workload(keys count: Int) -> Workload {
    Workload("memory.footprint", Parameters(keys: count)) { _ in
      [
        trial("LMDBCaching.MemoryCache", count, { MemoryCache<Int, Int>(countLimit: .max) }) {
          $0.set($1, forKey: $1)
        },
        // Twice as many sets also fill the ghost queue.
        trial("LMDBCaching.MemoryCache, full and evicting", count, times: 2, { MemoryCache(countLimit: count) }) {
          $0.set($1, forKey: $1)
        },
        trial("Mutex<Dictionary>", count, { Locked<[Int: Int]>([:]) }) { locked, number in
          locked.content.withLock { $0[number] = number }
        },
        trial("Mutex<LRU>", count, { Locked(LRU<Int, Int>(capacity: count)) }) { locked, number in
          locked.content.withLock { $0.set(number, forKey: number) }
        },
      ]
    }
  }

  private final class Locked<Content: Sendable>: Sendable {
    let content: Mutex<Content>

    init(_ content: Content) { self.content = Mutex(content) }
  }

  private static func trial<Subject>(
    _ name: String, _ count: Int, times: Int = 1, _ make: @escaping () -> Subject,
    set: @escaping (Subject, Int) -> Void
  ) -> Trial {
    var subject: Subject?
    var before = 0
    return Trial(
      name, operations: count * times,
      before: {
        before = Int(allocated_bytes())
        subject = make()
      },
      after: {
        let bytes = Double(Int(allocated_bytes()) - before) / Double(count)
        subject = nil
        return ["bytesPerEntry": bytes - Double(2 * MemoryLayout<Int>.size)]
      },
      body: { for number in 0..<(count * times) { set(subject!, number) } })
  }
}
