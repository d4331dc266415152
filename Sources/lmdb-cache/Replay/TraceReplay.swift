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
    try cache.disk.trim(to: .limits)
    return ReplayReport(
      outcome.times, from: before, to: cache.statistics, nanoseconds: nanoseconds, clockNanoseconds: clockCost,
      threads: threads, bytesOnDisk: try cache.disk.size, requestsInTrace: trace.requests.count,
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
    var diskHits = threads == 1 ? cache.diskHits : nil
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
        let now = cache.diskHits
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

/// Counts and times of one thread of a replay, or of all.
struct ReplayTimes: Sendable {
  var memoryHits = Histogram()
  var diskHits = Histogram()
  /// Hits of either tier, which cannot be distinguished with several threads.
  var hits = Histogram()
  var misses = Histogram()
  var wrongValues = 0

  mutating func add(_ other: ReplayTimes) {
    memoryHits.add(other.memoryHits)
    diskHits.add(other.diskHits)
    hits.add(other.hits)
    misses.add(other.misses)
    wrongValues += other.wrongValues
  }

  var all: Histogram {
    var all = hits
    all.add(misses)
    return all
  }
}

/// A fixed-size histogram with growing buckets and a relative error of at most 0.4 %.
///
/// Values below 256 have a bucket each. Larger powers of two are divided into 128 equal buckets, read back as their
/// middle. Recording takes a few instructions.
struct Histogram: Sendable {
  private static let subBucketBits = 7
  private static let subBuckets = 1 << subBucketBits
  /// The limit for values: about 18 minutes, in nanoseconds.
  static let greatest = UInt64(1) << 40 - 1

  private var counts: [Int]
  private(set) var count = 0
  private(set) var maximum: UInt64 = 0

  init() { counts = Array(repeating: 0, count: Self.bucket(Self.greatest) + 1) }

  mutating func record(_ value: UInt64) {
    counts[Self.bucket(min(value, Self.greatest))] += 1
    count += 1
    maximum = max(maximum, value)
  }

  mutating func add(_ other: Histogram) {
    for bucket in counts.indices { counts[bucket] += other.counts[bucket] }
    count += other.count
    maximum = max(maximum, other.maximum)
  }

  /// The smallest value not exceeded by this fraction (0 … 1) of the records; `nil` without records.
  func quantile(_ part: Double) -> UInt64? {
    if count == 0 { return nil }
    let rank = min(count, max(1, Int((part * Double(count)).rounded(.up))))
    var seen = 0
    for (bucket, occurrences) in counts.enumerated() {
      seen += occurrences
      if seen >= rank { return min(Self.middle(ofBucket: bucket), maximum) }
    }
    return maximum
  }

  /// The octave above the linear part, times its buckets, plus the bits after the leading one.
  private static func bucket(_ value: UInt64) -> Int {
    let shift = max(0, UInt64.bitWidth - value.leadingZeroBitCount - subBucketBits - 1)
    return shift * subBuckets + Int(truncatingIfNeeded: value >> UInt64(shift))
  }

  private static func middle(ofBucket bucket: Int) -> UInt64 {
    let shift = max(0, bucket / subBuckets - 1)
    let least = UInt64(bucket - shift * subBuckets) << UInt64(shift)
    return least + (UInt64(1) << UInt64(shift)) / 2
  }
}

/// The value that a replay stores under a key: constant for a key, and different for others.
enum DerivedValue {
  /// FNV-1a over the key's bytes.
  static func seed(_ key: String) -> UInt64 {
    key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// Fills `bytes` with splitmix64 output.
  @inline(__always)
  static func fill(_ bytes: UnsafeMutableRawBufferPointer, seed: UInt64) {
    var state = seed
    var offset = 0
    while offset + 8 <= bytes.count {
      bytes.storeBytes(of: next(&state).littleEndian, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    if offset == bytes.count { return }
    var rest = next(&state)
    while offset < bytes.count {
      bytes[offset] = UInt8(truncatingIfNeeded: rest)
      rest >>= 8
      offset += 1
    }
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
