import CBORCoding
import CHiredisReference
import Foundation
import LMDBCaching
import LMDBCachingRedis
import Reporting
import Synchronization

/// A cache over a server on the same machine, through a Unix socket.
enum RemoteWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    if RedisProcess.executable == nil { return [] }
    let keys = setting.pick(check: 50, quick: 1_000, full: 1_000)
    let workloads = [
      localHit(keys), hit(keys), setBehind(keys), tasks(setting.pick(check: 100, quick: 20_000, full: 100_000)),
    ]
    if KilledWriter.program == nil { return workloads }
    return workloads + [changes(setting.pick(check: 20, quick: 300, full: 1_000))]
  }

  private struct Machine {
    let cache: DistributedCache
    let directory: URL

    init(_ server: RedisProcess, _ setting: Setting, _ change: (inout DistributedCacheConfiguration) -> Void = { _ in })
      throws
    {
      directory = try setting.directory()
      var configuration = DistributedCacheConfiguration()
      configuration.timeLimit = .seconds(60)
      change(&configuration)
      cache = try DistributedCache(
        local: LMDBCache(directory: directory), remote: server.tier(), configuration: configuration)
      let limit = Date(timeIntervalSinceNow: 60)
      while !cache.health.isHealthy || cache.health.isRevalidating {
        guard Date() < limit else { throw WorkloadError("The server does not answer.") }
        usleep(1_000)
      }
    }

    func close(_ setting: Setting) throws {
      cache.close()
      try cache.local.close()
      try setting.remove(directory)
    }
  }

  /// Values in memory, without a server and with one.
  private static func localHit(_ count: Int) -> Workload {
    Workload("remote.localHit", Parameters(keys: count)) { setting in
      let server = try RedisProcess()
      let machine = try Machine(server, setting)
      let keys = (0..<count).map(RequestKeys.text)
      for (number, key) in keys.enumerated() { try machine.cache.set(number, forKey: key) }
      let (passes, sum) = (500, keys.indices.reduce(0, +))
      func trial(_ name: String, _ read: @escaping (String) throws -> Int?, isLast: Bool = false) -> Trial {
        Trial(
          name, operations: count * passes,
          finish: {
            guard isLast else { return }
            try machine.close(setting)
            server.stop()
          },
          body: {
            for _ in 0..<passes {
              var found = 0
              for key in keys { found &+= try read(key) ?? .min }
              guard found == sum else { throw WorkloadError("\(name) lost a value.") }
            }
          })
      }
      let (cache, local) = (machine.cache, machine.cache.local)
      return [
        trial("LMDBCaching.LMDBCache", { try local.value(Int.self, forKey: $0) }),
        trial("LMDBCaching.DistributedCache", { try cache.value(Int.self, forKey: $0) }, isLast: true),
      ]
    }
  }

  /// A structure that only the server has.
  private static func hit(_ count: Int) -> Workload {
    Workload("remote.hit", Parameters(keys: count)) { setting in
      let server = try RedisProcess()
      let (writer, reader) = (try Machine(server, setting), try Machine(server, setting))
      let keys = (0..<count).map(RequestKeys.text)
      let context = redisConnectUnix(server.socket)
      for (number, key) in keys.enumerated() {
        let profile = Profile(id: number)
        try writer.cache.set(profile, forKey: key)
        let data = try CBOREncoder().encode(profile)
        try writer.cache.local.removeValue(forKey: key)
        _ = try get(context, ["SET", "bare:" + key], data)
      }
      return [
        Trial(
          "hiredis and the decoder", operations: count,
          body: {
            for key in keys {
              guard let data = try get(context, ["GET", "bare:" + key], nil) else { throw WorkloadError("No reply.") }
              consume(try CBORDecoder().decode(Profile.self, from: data))
            }
          }),
        Trial(
          "LMDBCaching.DistributedCache", operations: count,
          before: { try reader.cache.local.removeAll() },
          finish: {
            try writer.close(setting)
            try reader.close(setting)
            redisFree(context)
            server.stop()
          },
          body: {
            for key in keys {
              guard let profile = try reader.cache.value(Profile.self, forKey: key) else {
                throw WorkloadError("A value is lost.")
              }
              consume(profile)
            }
          }),
      ]
    }
  }

  private static func get(
    _ context: UnsafeMutablePointer<redisContext>?, _ words: [String], _ value: Data?
  ) throws -> Data? {
    var arguments = words.map { Data($0.utf8) }
    if let value { arguments.append(value) }
    let pointers = arguments.map { data in data.withUnsafeBytes { strndupBytes($0) } }
    defer { for pointer in pointers { free(pointer) } }
    var lengths = arguments.map(\.count)
    var constants = pointers.map { UnsafePointer<CChar>($0) }
    guard let raw = redisCommandArgv(context, Int32(arguments.count), &constants, &lengths) else { return nil }
    defer { freeReplyObject(raw) }
    let reply = raw.assumingMemoryBound(to: redisReply.self).pointee
    return reply.str.map { Data(bytes: $0, count: reply.len) }
  }

  private static func strndupBytes(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<CChar>? {
    let copy = malloc(max(1, bytes.count))
    if let base = bytes.baseAddress { copy?.copyMemory(from: base, byteCount: bytes.count) }
    return copy?.assumingMemoryBound(to: CChar.self)
  }

  /// Sets of 100 bytes, in the local tiers alone, and with writes to the server in the background.
  private static func setBehind(_ count: Int) -> Workload {
    Workload("remote.setBehind", Parameters(keys: count)) { setting in
      let server = try RedisProcess()
      let machine = try Machine(server, setting) { $0.writes = .behind(limit: 1 << 30) }
      let keys = (0..<count).map(RequestKeys.text)
      let value = Data(SplitMix.sample(100))
      func trial(
        _ name: String, _ set: @escaping (String) throws -> Void, end: (() throws -> Void)? = nil
      ) -> Trial {
        Trial(
          name, operations: count * 5,
          before: { try machine.cache.flush() },
          finish: {
            guard let end else { return }
            try end()
            try machine.close(setting)
            server.stop()
          },
          body: { for _ in 0..<5 { for key in keys { try set(key) } } })
      }
      // The caller's part alone: nothing is sent.
      var alone = DistributedCacheConfiguration()
      alone.writes = .behind(limit: 1 << 30)
      let directory = try setting.directory()
      let unheard = try DistributedCache(
        local: LMDBCache(directory: directory),
        remote: RedisTier(RedisConfiguration(unixSocket: server.socket + "none")),
        configuration: alone)
      let (cache, local) = (machine.cache, machine.cache.local)
      return [
        trial("LMDBCaching.LMDBCache", { try local.set(value, forKey: $0) }),
        trial("LMDBCaching.DistributedCache, server away", { try unheard.set(value, forKey: $0) }),
        trial("LMDBCaching.DistributedCache", { try cache.set(value, forKey: $0) }) {
          unheard.close(timeLimit: .zero)
          try unheard.local.close()
          try setting.remove(directory)
        },
      ]
    }
  }

  /// Values that only the server has, read by 64 tasks.
  private static func tasks(_ count: Int) -> Workload {
    Workload("remote.tasks64", Parameters(keys: count)) { setting in
      let server = try RedisProcess()
      let (writer, reader) = (try Machine(server, setting), try Machine(server, setting))
      let keys = (0..<count).map { "key:\(String(format: "%012d", $0))" }
      let value = Data(SplitMix.sample(100))
      for start in stride(from: 0, to: count, by: 1_000) {
        let page = keys[start..<min(count, start + 1_000)]
        try writer.cache.set(page.map { ($0, value) })
        let tier = try server.tier()
        _ = try tier.sendAndWait(
          page.map { RemoteCommand([Data("SET".utf8), Data($0.utf8), value]) }, timeLimit: .seconds(10))
        tier.close()
      }
      let cache = reader.cache
      return [
        Trial("redis-benchmark -P 16", operations: count, body: { try server.runBenchmark(gets: count, keys: count) }),
        Trial(
          "LMDBCaching.DistributedCache, 64 tasks", operations: count,
          before: { try cache.local.removeAll() },
          finish: {
            try writer.close(setting)
            try reader.close(setting)
            server.stop()
          },
          body: {
            let next = Counter()
            let done = DispatchSemaphore(value: 0)
            let failed = Counter()
            Task.detached {
              await withTaskGroup(of: Void.self) { group in
                for _ in 0..<64 {
                  group.addTask {
                    while case let index = next.take(), index < keys.count {
                      do {
                        if try await cache.value(Data.self, forKey: keys[index]) != value { _ = failed.take() }
                      } catch { _ = failed.take() }
                    }
                  }
                }
              }
              done.signal()
            }
            done.wait()
            guard failed.take() == 0 else { throw WorkloadError("A value is lost.") }
          }),
      ]
    }
  }

  /// From the start of a set until another process with its own directory reads the new value.
  private static func changes(_ count: Int) -> Workload {
    Workload("remote.change", Parameters(keys: 1)) { setting in
      let server = try RedisProcess()
      let machine = try Machine(server, setting)
      let directory = try setting.directory()
      // More than there are rounds.
      let watcher = try ChangeWatcher(socket: server.socket, directory: directory, count: count * 100)
      return [
        Trial(
          "LMDBCaching.DistributedCache", operations: count, after: { watcher.takeReadings() },
          finish: {
            try watcher.end()
            try machine.close(setting)
            try setting.remove(directory)
            server.stop()
          },
          body: { for _ in 0..<count { try watcher.change(machine.cache) } })
      ]
    }
  }

  private final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    func take() -> Int { value.add(1, ordering: .relaxed).oldValue }
  }
}

extension SplitMix {
  fileprivate static func sample(_ count: Int) -> [UInt8] {
    var random = SplitMix(state: 1)
    return random.bytes(count)
  }
}
