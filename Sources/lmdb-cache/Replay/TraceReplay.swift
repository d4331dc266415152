import Foundation
import LMDBCaching
import Synchronization

final class TraceReplay: Sendable {
  /// Requests that a thread takes at once, to follow the trace's order without contention.
  static let block = 256

  private let trace: Trace
  private let seeds: [UInt64]
  private let cache: LMDBCache
  private let valueBytes: Int
  private let threads: Int
  private let interruption: Interruption
  private let done = Atomic<Int>(0)
  private let hasFailed = Atomic<Bool>(false)
  private let outcome = Mutex<Outcome>(Outcome())

  private struct Outcome {
    var times = ReplayTimes()
    var failure: (any Error)?
  }

  init(_ trace: Trace, _ cache: LMDBCache, valueBytes: Int, threads: Int, _ interruption: Interruption) {
    self.trace = trace
    self.cache = cache
    self.valueBytes = valueBytes
    self.threads = threads
    self.interruption = interruption
    seeds = trace.keys.map(DerivedValue.seed)
  }

  func run() throws -> ReplayReport {
    let clockCost = Platform.clockCost()
    let before = cache.statistics
    let start = Platform.nanoseconds()
    let group = DispatchGroup()
    for index in 0..<threads {
      group.enter()
      Thread.detachNewThread { [self] in
        work(index)
        group.leave()
      }
    }
    showProgress(until: group, since: start)
    let nanoseconds = Platform.nanoseconds() - start
    let outcome = outcome.withLock { $0 }
    if let failure = outcome.failure { throw failure }
    // Write everything to disk before measuring it.
    try cache.flush()
    // Trim now, so that the report shows a cache within its limits.
    try cache.diskCache.trimToLimits()
    return ReplayReport(
      outcome.times, from: before, to: cache.statistics, nanoseconds: nanoseconds, clockNanoseconds: clockCost,
      threads: threads, bytesOnDisk: try cache.diskCache.bytesOnDisk(), requestsInTrace: trace.requests.count,
      health: cache.health)
  }

  private func showProgress(until group: DispatchGroup, since start: UInt64) {
    guard let bar = ProgressBar() else { return group.wait() }
    while group.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
      bar.show(
        done.load(ordering: .relaxed), of: trace.requests.count, nanoseconds: Platform.nanoseconds() - start)
    }
    bar.clear()
  }

  private func work(_ index: Int) {
    var times = ReplayTimes()
    let result = Result { try replayBlocks(startingAt: index, &times) }
    if case .failure = result { hasFailed.store(true, ordering: .relaxed) }
    outcome.withLock { outcome in
      outcome.times.add(times)
      if case .failure(let error) = result, outcome.failure == nil { outcome.failure = error }
    }
  }

  private func replayBlocks(startingAt index: Int, _ times: inout ReplayTimes) throws {
    let expected = UnsafeMutableRawBufferPointer.allocate(byteCount: valueBytes, alignment: 8)
    defer { expected.deallocate() }
    // Disk hits so far, which a single thread can attribute to its requests.
    var diskHits = threads == 1 ? cache.diskCache.diskHits : nil
    for start in stride(from: index * Self.block, to: trace.requests.count, by: threads * Self.block) {
      if interruption.hasHappened || hasFailed.load(ordering: .relaxed) { return }
      let block = trace.requests[start..<min(start + Self.block, trace.requests.count)]
      for number in block {
        DerivedValue.fill(expected, seed: seeds[Int(number)])
        try request(trace.keys[Int(number)], UnsafeRawBufferPointer(expected), &diskHits, &times)
      }
      done.wrappingAdd(block.count, ordering: .relaxed)
    }
  }

  @inline(__always)
  private func request(
    _ key: String, _ expected: UnsafeRawBufferPointer, _ diskHits: inout Int?, _ times: inout ReplayTimes
  ) throws {
    let asked = Platform.nanoseconds()
    let found = try cache.value(Data.self, forKey: key)
    let answered = Platform.nanoseconds()
    if let found {
      times.hits.record(answered - asked)
      if let known = diskHits {
        let now = cache.diskCache.diskHits
        if now == known { times.memoryHits.record(answered - asked) } else { times.diskHits.record(answered - asked) }
        diskHits = now
      }
      if !found.withUnsafeBytes({ Self.areEqual($0, expected) }) { times.wrongValues += 1 }
    } else {
      let value = Data(expected)
      let storing = Platform.nanoseconds()
      try cache.set(value, forKey: key)
      times.misses.record(answered - asked + Platform.nanoseconds() - storing)
    }
  }

  @inline(__always)
  private static func areEqual(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
    guard first.count == second.count else { return false }
    guard let start = first.baseAddress, let other = second.baseAddress else { return true }
    return memcmp(start, other, first.count) == 0
  }
}
