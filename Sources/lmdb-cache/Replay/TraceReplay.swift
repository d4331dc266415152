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
  private let state = Mutex<State>(State())

  private struct State {
    var times = ReplayTimes()
    var failure: (any Error)?
  }

  struct Outcome {
    let times: ReplayTimes
    let before, after: CacheStatistics
    let nanoseconds: UInt64
    /// The time added to each measurement by reading the clock.
    let clockNanoseconds: UInt64
    let threads, bytesOnDisk: Int
    let isInterrupted: Bool
    /// "healthy", or the problem.
    let health: String
  }

  init(_ trace: Trace, _ cache: LMDBCache, valueBytes: Int, threads: Int, _ interruption: Interruption) {
    self.trace = trace
    self.cache = cache
    self.valueBytes = valueBytes
    self.threads = threads
    self.interruption = interruption
    seeds = trace.keys.map(DerivedValue.seed)
  }

  func run() throws -> Outcome {
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
    Progress.during(of: trace.requests.count) { [self] in
      done.load(ordering: .relaxed)
    } _: {
      group.wait()
    }
    let nanoseconds = Platform.nanoseconds() - start
    let (times, failure) = state.withLock { ($0.times, $0.failure) }
    if let failure { throw failure }
    // Write everything to disk before measuring it.
    try cache.flush()
    // Trim now, so that the report shows a cache within its limits.
    try cache.disk.trim(to: .limits)
    let health =
      switch cache.health {
      case .healthy: "healthy"
      case .memoryOnly(let error): "\(error)"
      case .closed: "closed"
      }
    return Outcome(
      times: times, before: before, after: cache.statistics, nanoseconds: nanoseconds, clockNanoseconds: clockCost,
      threads: threads, bytesOnDisk: try cache.disk.size,
      isInterrupted: times.all.count < trace.requests.count, health: health)
  }

  private func work(_ index: Int) {
    var times = ReplayTimes()
    let result = Result { try replayBlocks(startingAt: index, &times) }
    if case .failure = result { hasFailed.store(true, ordering: .relaxed) }
    state.withLock { state in
      state.times.add(times)
      if case .failure(let error) = result, state.failure == nil { state.failure = error }
    }
  }

  private func replayBlocks(startingAt index: Int, _ times: inout ReplayTimes) throws {
    // Disk hits so far, which a single thread can attribute to its requests.
    var diskHits = threads == 1 ? cache.diskHits : nil
    for start in stride(from: index * Self.block, to: trace.requests.count, by: threads * Self.block) {
      if interruption.hasHappened || hasFailed.load(ordering: .relaxed) { return }
      let block = trace.requests[start..<min(start + Self.block, trace.requests.count)]
      for number in block {
        let expected = DerivedValue.bytes(valueBytes, seed: seeds[Int(number)])
        try request(trace.keys[Int(number)], expected, &diskHits, &times)
      }
      done.wrappingAdd(block.count, ordering: .relaxed)
    }
  }

  @inline(__always)
  private func request(_ key: String, _ expected: Data, _ diskHits: inout Int?, _ times: inout ReplayTimes) throws {
    let asked = Platform.nanoseconds()
    let found = try cache.value(Data.self, forKey: key)
    let answered = Platform.nanoseconds()
    if let found {
      times.hits.record(nanoseconds: Int64(answered - asked))
      if let known = diskHits {
        let now = cache.diskHits
        if now == known {
          times.memoryHits.record(nanoseconds: Int64(answered - asked))
        } else {
          times.diskHits.record(nanoseconds: Int64(answered - asked))
        }
        diskHits = now
      }
      if found != expected { times.wrongValues += 1 }
    } else {
      let storing = Platform.nanoseconds()
      try cache.set(expected, forKey: key)
      times.misses.record(nanoseconds: Int64(answered - asked + Platform.nanoseconds() - storing))
    }
  }
}

/// Counts and times of one thread of a replay, or of all.
struct ReplayTimes: Sendable {
  var memoryHits = LatencyHistogram()
  var diskHits = LatencyHistogram()
  /// Hits of either tier, which cannot be distinguished with several threads.
  var hits = LatencyHistogram()
  var misses = LatencyHistogram()
  var wrongValues = 0

  mutating func add(_ other: ReplayTimes) {
    memoryHits.add(other.memoryHits)
    diskHits.add(other.diskHits)
    hits.add(other.hits)
    misses.add(other.misses)
    wrongValues += other.wrongValues
  }

  var all: LatencyHistogram {
    var all = hits
    all.add(misses)
    return all
  }
}

/// The value that a replay stores under a key: constant for a key, and different for others.
enum DerivedValue {
  /// FNV-1a over the key's bytes.
  static func seed(_ key: String) -> UInt64 {
    key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// `count` bytes of splitmix64 output.
  static func bytes(_ count: Int, seed: UInt64) -> Data {
    var state = seed
    let words = (0..<(count + 7) / 8).map { _ in next(&state).littleEndian }
    return unsafe words.withUnsafeBytes { unsafe Data($0.prefix(count)) }
  }

  @inline(__always)
  private static func next(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
