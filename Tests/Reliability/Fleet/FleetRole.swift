import Foundation
import LMDBCaching
import LMDBCachingRedis
import Platform
import Synchronization
import TestSupport

/// A machine of a fleet: `DIRECTORY SOCKET MACHINE OPERATIONS SEED`. Reads and writes, prints `done`, and then answers commands.
extension FleetTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let machine = try FleetMachine(
      directory: arguments[0], socket: arguments[1], number: Int(arguments[2])!, seed: UInt64(arguments[4])!)
    let operations = Int(arguments[3])!
    machine.watch()
    concurrently(FleetPlan.threads) { thread in machine.run(thread, operations / FleetPlan.threads) }
    answer("done")
    while let line = readLine() {
      switch line {
      case "write": answer(machine.writeAll())
      case "check": answer(machine.checkAll())
      case "end":
        machine.end()
        return answer("ended")
      default: answer("?")
      }
    }
  }
}

// Sendable: one thread owns each key's `versions`, then the command loop; `numbers` belong to one thread each.
final class FleetMachine: @unchecked Sendable {
  private let number: Int
  private let seed: UInt64
  private let cache: DistributedCache
  private let history: FileHandle
  private let source: FleetSource
  private var versions = [Int](repeating: 0, count: FleetPlan.keys)
  /// How many versions of contested keys each thread has written.
  private var numbers = [Int](repeating: 0, count: FleetPlan.threads)

  init(directory: String, socket: String, number: Int, seed: UInt64) throws {
    self.number = number
    self.seed = seed
    let path = directory + "/history-\(number)"
    // Continue from the history of the killed process.
    for event in FleetEvent.events(in: path) where event.kind == .begun || event.kind == .acknowledged {
      if FleetPlan.isContested(event.key) {
        let thread = event.version >> 32 % FleetPlan.threads
        numbers[thread] = max(numbers[thread], event.version & 0xFFFF_FFFF)
      } else {
        versions[event.key] = max(versions[event.key], event.version)
      }
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    history = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    source = try FleetSource(directory)
    var configuration = DistributedCacheConfiguration()
    configuration.timeLimit = .nanoseconds(FleetPlan.timeLimit)
    configuration.servesUnheardFor = .nanoseconds(FleetPlan.servesUnheardFor(number))
    configuration.leaseDuration = .seconds(2)
    configuration.loadWaitLimit = .seconds(2)
    configuration.rememberedChanges = 2_000
    if FleetPlan.queueMachines.contains(number) {
      configuration.writes = .behind(
        limit: 64 << 20,
        keptIn: number == FleetPlan.killedMachine ? URL(fileURLWithPath: directory + "/queue") : nil)
    }
    let local = try TrialCache.open(directory + "/machine-\(FleetPlan.directory(of: number))") { local in
      guard FleetPlan.smallMachines.contains(number) else { return }
      local.memory.countLimit = 20
      local.disk.countLimit = 60
    }
    cache = try DistributedCache(
      local: local, remote: RedisTier(RedisConfiguration(unixSocket: socket)), configuration: configuration)
  }

  private func note(_ event: FleetEvent) { history.write(event.bytes) }

  /// Records scheduling pauses for the life of the process.
  func watch() {
    Thread.detachNewThread { [self] in
      let nap: Int64 = 20_000_000
      while true {
        let start = MonotonicClock.nanoseconds
        MonotonicClock.sleep(nanoseconds: nap)
        let end = MonotonicClock.nanoseconds
        if end - start - nap > FleetPlan.notedPause {
          note(FleetEvent(.paused, key: 0, version: 0, start: start, end: end))
        }
      }
    }
  }

  // MARK: Reading and writing

  func run(_ thread: Int, _ operations: Int) {
    var random = SeededRandom(seed &* 31 &+ UInt64(thread))
    let own = (0..<FleetPlan.ownKeys).filter {
      FleetPlan.writer(of: $0) == number && FleetPlan.thread(of: $0) == thread
    }
    for operation in 0..<operations {
      switch random.below(20) {
      case 0, 1: write(own.randomElement(using: &random)!, thread, &random)
      case 2: write(FleetPlan.ownKeys + random.below(FleetPlan.keys - FleetPlan.ownKeys), thread, &random)
      default: read(random.below(FleetPlan.keys), isAsync: random.below(2) == 0)
      }
      if FleetPlan.queueMachines.contains(number), operation % 100 == 99 { flush() }
      // Slow enough that the server fails now and then.
      if random.below(4) == 0 { usleep(UInt32(random.below(8_000))) }
    }
  }

  private func flush() {
    let start = MonotonicClock.nanoseconds
    do {
      try cache.flush(timeLimit: .milliseconds(500))
      note(FleetEvent(.flushed, key: 0, version: 0, start: start, end: MonotonicClock.nanoseconds))
    } catch {}  // The server refused it: keep waiting.
  }

  /// Runs an async body to its end on the calling thread.
  private func waiting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let result = Guarded<Result<R, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task {
      do {
        let value = try await body()
        result { $0 = .success(value) }
      } catch { result { $0 = .failure(error) } }
      done.signal()
    }
    done.wait()
    return try result.current!.get()
  }

  private func value(_ key: Int, isAsync: Bool) throws -> Int {
    let (cache, source, name) = (cache, source, FleetPlan.name(key))
    switch (FleetPlan.isLoaded(key), isAsync) {
    case (true, true): return try waiting { try await cache.value([Int].self, forKey: name) { _ in [source[key]] }[0] }
    case (true, false): return try cache.value([Int].self, forKey: name) { _ in [source[key]] }[0]
    case (false, true): return try waiting { try await cache.value([Int].self, forKey: name)?[0] ?? 0 }
    case (false, false): return try cache.value([Int].self, forKey: name)?[0] ?? 0
    }
  }

  private func read(_ key: Int, isAsync: Bool) {
    let failures = cache.statistics.failures
    let start = MonotonicClock.nanoseconds
    do {
      let version = try value(key, isAsync: isAsync)
      // Before its first write, a loaded key reads as 0.
      if FleetPlan.isLoaded(key), version == 0 { return }
      var event = FleetEvent(.read, key: key, version: version, start: start, end: MonotonicClock.nanoseconds)
      event.hasFailure = cache.statistics.failures != failures || !cache.health.isHealthy
      note(event)
    } catch {
      FleetTrial.answer("reading \(key): \(error)")
    }
  }

  private func write(_ key: Int, _ thread: Int, _ random: inout SeededRandom) {
    let life: Duration? = random.below(8) == 0 ? .milliseconds(200 + random.below(3_000)) : nil
    let (isRemoval, isAsync) = (random.below(10) == 0, random.below(2) == 0)
    write(key, thread, expiresIn: FleetPlan.isContested(key) ? nil : life, isRemoval: isRemoval, isAsync: isAsync)
  }

  private func nextVersion(_ key: Int, _ thread: Int) -> Int {
    if FleetPlan.isContested(key) {
      numbers[thread] += 1
      return FleetPlan.version(numbers[thread], machine: number, thread: thread)
    }
    versions[key] += 1
    return versions[key]
  }

  /// - Returns: Whether it was acknowledged.
  @discardableResult
  private func write(
    _ key: Int, _ thread: Int = 0, expiresIn: Duration? = nil, isRemoval: Bool = false, isAsync: Bool = false
  ) -> Bool {
    let version = nextVersion(key, thread)
    let isLoaded = FleetPlan.isLoaded(key)
    let start = MonotonicClock.nanoseconds
    var event = FleetEvent(.begun, key: key, version: version, isRemoval: isRemoval || isLoaded, start: start, end: 0)
    let life = isLoaded || isRemoval ? nil : expiresIn
    func expiry() -> Int64 { life.map { RealTimeClock.nanoseconds + Int64($0 / .nanoseconds(1)) } ?? 0 }
    event.expires = expiry()
    note(event)
    do {
      let (cache, name) = (cache, FleetPlan.name(key))
      if isLoaded { source[key] = version }
      switch (isLoaded || isRemoval, isAsync) {
      case (true, true): try waiting { try await cache.removeValue(forKey: name) }
      case (true, false): try cache.removeValue(forKey: name)
      case (false, true): try waiting { try await cache.set([version], forKey: name, expiresIn: life) }
      case (false, false): try cache.set([version], forKey: name, expiresIn: life)
      }
      event.kind = .acknowledged
      event.expires = expiry()
      event.end = MonotonicClock.nanoseconds
      note(event)
      return true
    } catch {
      // The outcome is unknown. Back off, since writes fail at once while the breaker is open.
      usleep(2_000)
      return false
    }
  }

  // MARK: The end

  private var ownKeys: [Int] { (0..<FleetPlan.ownKeys).filter { FleetPlan.writer(of: $0) == number } }

  func writeAll() -> String {
    for key in ownKeys {
      var attempts = 0
      while !write(key), attempts < 5_000 { attempts += 1 }
    }
    do { try cache.flush(timeLimit: .seconds(120)) } catch { return "flush: \(error)" }
    return ownKeys.map { "\($0)=\(versions[$0])" }.joined(separator: " ")
  }

  /// Reads every key; -1 stands for one that cannot be read.
  func checkAll() -> String {
    (0..<FleetPlan.keys).map { key in
      let version: Int
      do { version = try value(key, isAsync: key % 2 == 0) } catch { version = -1 }
      return "\(key)=\(version)"
    }.joined(separator: " ")
  }

  func end() {
    cache.close()
    try? cache.local.close()
  }
}

/// The source of the loaded keys: one number for each, in memory that all machines share.
// Sendable: the numbers are atomic, and stay mapped.
struct FleetSource: @unchecked Sendable {
  private let numbers: UnsafeMutablePointer<Atomic<Int>>

  init(_ directory: String) throws {
    let size = FleetPlan.keys * MemoryLayout<Atomic<Int>>.stride
    let descriptor = open(directory + "/source", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { _ = close(descriptor) }
    guard ftruncate(descriptor, off_t(size)) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
    else { throw POSIXError(.EIO) }
    numbers = memory.bindMemory(to: Atomic<Int>.self, capacity: FleetPlan.keys)
  }

  subscript(key: Int) -> Int {
    get { numbers[key].load(ordering: .sequentiallyConsistent) }
    nonmutating set { numbers[key].store(newValue, ordering: .sequentiallyConsistent) }
  }
}
