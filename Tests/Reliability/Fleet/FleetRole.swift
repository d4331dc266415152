import Foundation
import LMDBCaching
import LMDBCachingRedis
import Platform
import TestSupport

/// A machine of a fleet: `DIRECTORY SOCKET MACHINE OPERATIONS SEED`. It reads and writes, says `done`, and does then what it is
/// told.
enum FleetRole: TrialRole {
  static let name = "fleet"

  static func run(_ arguments: [String]) throws {
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

// Sendable: `versions` of a key is its thread's, and later of who is told.
final class FleetMachine: @unchecked Sendable {
  private let number: Int
  private let seed: UInt64
  private let cache: DistributedCache
  private let history: FileHandle
  private let source: FleetSource
  /// The last version of each key of this machine's.
  private var versions = [Int](repeating: 0, count: FleetPlan.keys)

  init(directory: String, socket: String, number: Int, seed: UInt64) throws {
    self.number = number
    self.seed = seed
    let path = directory + "/history-\(number)"
    // What it did before it was killed.
    for event in FleetEvent.events(in: path) where event.kind == .begun || event.kind == .acknowledged {
      versions[event.key] = max(versions[event.key], event.version)
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    history = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    source = try FleetSource(directory)
    var configuration = DistributedCacheConfiguration()
    configuration.timeLimit = .nanoseconds(FleetPlan.timeLimit)
    configuration.servesUnheardFor = .nanoseconds(FleetPlan.servesUnheardFor(number))
    configuration.breaker.longestPause = .seconds(1)
    configuration.leaseDuration = .seconds(2)
    configuration.loadWaitLimit = .seconds(2)
    configuration.rememberedChanges = 2_000
    if number == FleetPlan.queueMachine {
      configuration.writes = .behind(limit: 64 << 20, keptIn: URL(fileURLWithPath: directory + "/queue"))
    }
    cache = try DistributedCache(
      local: TrialCache.open(directory + "/machine-\(number)"),
      remote: RedisTier(RedisConfiguration(unixSocket: socket)), configuration: configuration)
  }

  private func note(_ event: FleetEvent) { history.write(Data(event.bytes)) }

  /// Notes when threads are held up, for as long as the process lives.
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
    let own = (0..<FleetPlan.keys).filter {
      FleetPlan.writer(of: $0) == number && FleetPlan.thread(of: $0) == thread
    }
    for _ in 0..<operations {
      if random.below(10) == 0 {
        write(own.randomElement(using: &random)!, &random)
      } else {
        read(random.below(FleetPlan.keys))
      }
      // Long enough for the server to fail now and then.
      if random.below(4) == 0 { usleep(UInt32(random.below(8_000))) }
    }
  }

  private func read(_ key: Int) {
    let start = MonotonicClock.nanoseconds
    do {
      let name = FleetPlan.name(key)
      var version: Int
      if FleetPlan.isLoaded(key) {
        version = try cache.value([Int].self, forKey: name) { [source] _ in
          [source[key]]
        }[0]
      } else {
        version = try cache.value([Int].self, forKey: name)?[0] ?? 0
      }
      // What nothing was written to yet is loaded as 0.
      if FleetPlan.isLoaded(key), version == 0 { version = -1 }
      if version >= 0 {
        note(FleetEvent(.read, key: key, version: version, start: start, end: MonotonicClock.nanoseconds))
      }
    } catch {
      FleetRole.answer("reading \(key): \(error)")
    }
  }

  private func write(_ key: Int, _ random: inout SeededRandom) {
    let life: Duration? = random.below(8) == 0 ? .milliseconds(200 + random.below(3_000)) : nil
    write(key, expiresIn: life, isRemoval: random.below(10) == 0)
  }

  /// - Returns: Whether it was acknowledged.
  @discardableResult
  private func write(_ key: Int, expiresIn: Duration?, isRemoval: Bool) -> Bool {
    versions[key] += 1
    let version = versions[key]
    let isLoaded = FleetPlan.isLoaded(key)
    let start = MonotonicClock.nanoseconds
    var event = FleetEvent(.begun, key: key, version: version, isRemoval: isRemoval || isLoaded, start: start, end: 0)
    let life = isLoaded || isRemoval ? nil : expiresIn
    func expiry() -> Int64 { life.map { RealTimeClock.nanoseconds + Int64($0 / .nanoseconds(1)) } ?? 0 }
    event.expires = expiry()
    note(event)
    do {
      let name = FleetPlan.name(key)
      if isLoaded {
        source[key] = version
        try cache.removeValue(forKey: name)
      } else if isRemoval {
        try cache.removeValue(forKey: name)
      } else {
        try cache.set([version], forKey: name, expiresIn: life)
      }
      event.kind = .acknowledged
      event.expires = expiry()
      event.end = MonotonicClock.nanoseconds
      note(event)
      return true
    } catch {
      // Whether it was made is not known. It throws at once while the server is left alone.
      usleep(2_000)
      return false
    }
  }

  // MARK: The end

  private var ownKeys: [Int] { (0..<FleetPlan.keys).filter { FleetPlan.writer(of: $0) == number } }

  /// Writes every key of this machine's once more.
  func writeAll() -> String {
    for key in ownKeys {
      var attempts = 0
      while !write(key, expiresIn: nil, isRemoval: false), attempts < 5_000 { attempts += 1 }
    }
    do { try cache.flush(timeLimit: .seconds(120)) } catch { return "flush: \(error)" }
    return ownKeys.map { "\($0)=\(versions[$0])" }.joined(separator: " ")
  }

  /// Reads every key; what it is told is asked for after that.
  func checkAll() -> String {
    (0..<FleetPlan.keys).map { key in
      let name = FleetPlan.name(key)
      let version: Int
      if FleetPlan.isLoaded(key) {
        version =
          (try? cache.value([Int].self, forKey: name) { [source] _ in
            [source[key]]
          })?[0] ?? -1
      } else {
        version = (try? cache.value([Int].self, forKey: name))??[0] ?? 0
      }
      return "\(key)=\(version)"
    }.joined(separator: " ")
  }

  func end() {
    cache.close()
    try? cache.local.close()
  }
}
