import Foundation
import LMDBCaching
import Synchronization

/// The longest that a reader waits while 50,000 of 100,000 entries are trimmed.
struct Trim: Figure {
  let name = "trim"
  private let count = 100_000

  func measure(_ setup: Setup) throws -> [Result] {
    var memoryStalls: [Double] = []
    var diskStalls: [Double] = []
    var trims: [Double] = []
    for _ in 0..<setup.rounds {
      let cache = try LMDBCache(directory: try setup.directory())
      let value = Data(repeating: 7, count: 100)
      for number in 0..<count { try cache.set(value, forKey: "user:profile:\(number)") }
      try cache.flush()
      let memory = try stall(cache) { number in
        _ = try cache.value(Data.self, forKey: "user:profile:\(number)")
      } during: {
        cache.memoryCache.trim(toCount: count / 2)
      }
      memoryStalls.append(memory.longest)
      let disk = try stall(cache) { number in
        _ = try cache.diskCache.value(Data.self, forKey: "user:profile:\(number)")
      } during: {
        try cache.trim(toCount: count / 2)
      }
      diskStalls.append(disk.longest)
      trims.append(disk.duration)
      precondition(cache.count == count / 2)
      try cache.close()
    }
    // The scheduler of two shared processors stalls threads too: every round's maximum is one of those.
    return [("memory tier", memoryStalls), ("disk tier", diskStalls)].map { label, stalls in
      Result(
        name: "\(name) 50,000 of 100,000, longest wait of a reader of the \(label)", value: stalls.median, unit: "ms",
        goal: 5,
        detail: "smallest of the rounds \(number(stalls.min()!)), largest \(number(stalls.max()!)); "
          + "the trim of both tiers takes \(number(trims.median)) ms")
    }
  }

  private func stall(
    _ cache: LMDBCache, _ read: @escaping @Sendable (Int) throws -> Void, during work: () throws -> Void
  ) throws -> (longest: Double, duration: Double) {
    let count = count
    let started = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let state = ReaderState()
    Thread.detachNewThread {
      var random = SplitMix(state: 4)
      started.signal()
      while !state.isDone.load(ordering: .relaxed) {
        let start = DispatchTime.now().uptimeNanoseconds
        try! read(Int(random.next() % UInt64(count)))
        let taken = Int(DispatchTime.now().uptimeNanoseconds - start)
        if taken > state.longest.load(ordering: .relaxed) { state.longest.store(taken, ordering: .relaxed) }
      }
      ended.signal()
    }
    started.wait()
    let duration = try nanoseconds(per: 1) { try work() }
    state.isDone.store(true, ordering: .relaxed)
    ended.wait()
    return (Double(state.longest.load(ordering: .relaxed)) / 1e6, duration / 1e6)
  }

  final class ReaderState: Sendable {
    let isDone = Atomic<Bool>(false)
    let longest = Atomic<Int>(0)
  }
}
