import Foundation
import LMDBCaching
import LMDBCachingRedis
import Synchronization

/// A process that reads a number again and again, as another machine of a fleet would: the program `benchmark`, with
/// arguments of its own.
public final class ChangeWatcher {
  private static let name = "change-watcher"
  static let key = "watched"

  /// To be called before anything else of `benchmark`. Does not return in the process that watches.
  public static func beginProgram() {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, arguments[1] == name, let count = Int(arguments[4]) else { return }
    do {
      let cache = try DistributedCache(
        local: LMDBCache(directory: URL(fileURLWithPath: arguments[3])),
        remote: RedisTier(RedisConfiguration(unixSocket: arguments[2])))
      let times = try times(arguments[3] + ".times", count)
      let limit = now + 60_000_000_000
      while !cache.health.isSettled {
        guard now < limit else { throw WorkloadError("The watcher is not in touch with the server.") }
        usleep(1_000)
      }
      var seen = 0
      while seen < count {
        // Nothing for a moment: what was removed is fetched, and the server did not answer in time.
        let number = try cache.value(Int.self, forKey: key) ?? seen
        if number == seen {
          // The other two share the processors.
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

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  /// When the watcher saw each number, in memory that both processes share.
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
  private let times: UnsafeMutablePointer<Atomic<Int>>
  private var last = 0
  /// In nanoseconds.
  private(set) var delays: [Int] = []

  init(socket: String, directory: URL, count: Int) throws {
    times = try Self.times(directory.path + ".times", count)
    process.executableURL = KilledWriter.program
    process.arguments = [Self.name, socket, directory.path, "\(count)"]
    try process.run()
  }

  /// Sets the next number, and waits until it is seen.
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

  /// The delays since it was asked last, in milliseconds: the median, and what 99 of a hundred do not exceed.
  func takeReadings() -> [String: Double] {
    let sorted = delays.sorted()
    delays = []
    func milliseconds(_ share: Double) -> Double { Double(sorted[Int(Double(sorted.count - 1) * share)]) / 1e6 }
    return ["median ms": milliseconds(0.5), "99 % ms": milliseconds(0.99)]
  }

  func end() { process.terminate() }
}
