import LMDBCaching
import Reporting

/// Threads read a few shared keys, to measure only their contention. Values are numbers, or objects whose reference
/// counts each reader writes.
enum MemoryThreads {
  static func workload<Content: ThreadedContent>(_ type: Content.Type, keys count: Int) -> Workload {
    Workload("memory.get.threads", Parameters(keys: count, content: Content.name)) { setting in
      let cache = MemoryCache<Int, Content>()
      for number in 0..<count { cache.set(Content.make(number), forKey: number) }
      let requests = setting.pick(check: 10_000, quick: 1_000_000, full: 4_000_000)
      let keys = (0..<2).map { thread in
        var random = SplitMix(state: UInt64(thread + 1))
        return (0..<requests).map { _ in Int.random(in: 0..<count, using: &random) }
      }
      let sums = keys.map { $0.reduce(0, +) }
      return [1, 2].map { threads in
        Trial("LMDBCaching.MemoryCache", threads: threads, operations: requests) {
          try onThreads(threads) { thread in
            guard sum(cache, keys[thread]) == sums[thread] else {
              throw WorkloadError("The cache gave other values than it was given.")
            }
          }
        }
      }
    }
  }

  // Not inlined, so that the optimizer cannot predict the values.
  @inline(never)
  private static func sum<Content: ThreadedContent>(_ cache: MemoryCache<Int, Content>, _ keys: [Int]) -> Int {
    var sum = 0
    for key in keys { sum &+= cache.value(forKey: key)?.number ?? .min }
    return sum
  }
}

protocol ThreadedContent: Sendable {
  static var name: String { get }
  static func make(_ number: Int) -> Self
  var number: Int { get }
}

extension Payload: ThreadedContent {
  static var name: String { "objects" }
  static func make(_ number: Int) -> Self { Self(number) }
}

/// A number, which has no reference count.
struct PlainNumber: ThreadedContent {
  static var name: String { "numbers" }
  let number: Int
  static func make(_ number: Int) -> Self { Self(number: number) }
}
