import Foundation
import LMDBCaching
import LMDBCachingRedis
import Synchronization

/// A process that polls a number, like another machine of a fleet: the program `benchmark` with special arguments.
public final class ChangeWatcher {
  private static let name = "change-watcher"
  static let key = "watched"

  /// Call first in `benchmark`. Does not return in the watching process.
  public static func beginProgram() {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, arguments[1] == name, let count = Int(arguments[4]) else { return }
    endWithParent()
    do {
      var configuration = DistributedCacheConfiguration()
      configuration.timeLimit = .seconds(60)
      let cache = try DistributedCache(
        local: LMDBCache(directory: URL(fileURLWithPath: arguments[3])),
        remote: RedisTier(RedisConfiguration(unixSocket: arguments[2])), configuration: configuration)
      let times = try times(arguments[3] + ".times", count)
      while !cache.health.isSettled { usleep(1_000) }
      var seen = 0
      while seen < count {
        // The value is missing before the first change, or after a late reply.
        guard let number = try cache.value(Int.self, forKey: key), number > seen, number <= count else {
          // The other two processes share the processors.
          usleep(20)
          continue
        }
        times[number - 1].store(now, ordering: .releasing)
        seen = number
      }
      cache.close()
      exit(0)
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  /// Ends with the parent: if that is killed, this process would keep its output pipe open, and readers waiting.
  private static func endWithParent() {
    let parent = getppid()
    Thread.detachNewThread {
      while getppid() == parent { usleep(100_000) }
      exit(1)
    }
  }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  /// When the watcher saw each number, in shared memory.
  private static func times(_ path: String, _ count: Int) throws -> UnsafeMutablePointer<Atomic<Int>> {
    let size = count * MemoryLayout<Int>.stride
    let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
    defer { close(descriptor) }
    guard ftruncate(descriptor, off_t(size)) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
    else { throw WorkloadError("There is no shared memory.") }
    return memory.bindMemory(to: Atomic<Int>.self, capacity: count)
  }

  private let process = Process()
  private let file: String
  private let times: UnsafeMutablePointer<Atomic<Int>>
  private var last = 0
  /// In nanoseconds.
  private(set) var delays: [Int] = []

  init(socket: String, directory: URL, count: Int) throws {
    file = directory.path + ".times"
    times = try Self.times(file, count)
    process.executableURL = KilledWriter.program
    process.arguments = [Self.name, socket, directory.path, "\(count)"]
    try process.run()
  }

  func change(_ cache: DistributedCache) throws {
    let start = Self.now
    try cache.set(last + 1, forKey: Self.key)
    while times[last].load(ordering: .acquiring) == 0 {
      guard process.isRunning else { throw WorkloadError("The watcher ended.") }
      usleep(20)
    }
    delays.append(times[last].load(ordering: .acquiring) - start)
    last += 1
  }

  /// The median and the 99th percentile of the delays since the last call, in milliseconds.
  func takeReadings() -> [String: Double] {
    let sorted = delays.sorted()
    delays = []
    func milliseconds(_ share: Double) -> Double { Double(sorted[Int(Double(sorted.count - 1) * share)]) / 1e6 }
    return ["median ms": milliseconds(0.5), "99 % ms": milliseconds(0.99)]
  }

  func end() throws {
    stop()
    try FileManager.default.removeItem(atPath: file)
  }

  private func stop() {
    guard process.isRunning else { return }
    // Processes started by a pool's thread have SIGTERM blocked.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  deinit { stop() }
}
