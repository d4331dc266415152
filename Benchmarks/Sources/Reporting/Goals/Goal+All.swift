extension Goal {
  /// In the order of the report. Subjects have the names of the workloads.
  public static let all: [Goal] = memory + traces + disk + changes + remote + archive

  /// Misses at a thousandth, a hundredth, a tenth and a fifth of the objects.
  private static let traces: [Goal] = {
    let cache = "LMDBCaching.MemoryCache"
    func goal(_ trace: String, _ part: String, _ limit: Double) -> Goal {
      Goal(
        "trace.\(trace) \(part): \(cache)", .missesAtMost(limit),
        Selection(workload: "trace.\(trace)", subject: cache),
        of: Selection(workload: "trace.\(trace)", subject: "Mutex<LRU>")
      ) { $0.content == part }
    }
    func trims(_ trace: String, _ part: String, _ limit: Double) -> Goal {
      let cache = "LMDBCaching, disk only"
      return Goal(
        "trace.disk.\(trace) \(part): \(cache)", .missesAtMost(limit),
        Selection(workload: "trace.disk.\(trace)", subject: cache),
        of: Selection(workload: "trace.disk.\(trace)", subject: "LRU, trimmed")
      ) { $0.content == part }
    }
    // As few misses as LRU, with a small tolerance on hard traces.
    func besideLRU(_ trace: String, _ part: String) -> Goal {
      Goal(
        "trace.\(trace) \(part): \(cache) / Mutex<LRU>", .missesTimesAtMost(1.03),
        Selection(workload: "trace.\(trace)", subject: cache),
        of: Selection(workload: "trace.\(trace)", subject: "Mutex<LRU>")
      ) { $0.content == part }
    }
    let others = ["orm-busy", "orm-night", "web12", "web07"].flatMap { trace in
      ["0.1 %", "20 %", "10 %, costs"].map { besideLRU(trace, $0) }
    }
    return [
      goal("orm-busy", "1 %", 22.7), goal("orm-busy", "10 %", 10.8), goal("orm-night", "1 %", 33),
      goal("orm-night", "10 %", 5.8), goal("web12", "1 %", 57.6), goal("web12", "10 %", 27.8),
      goal("web07", "1 %", 56.2), goal("web07", "10 %", 42.5),
      // As few misses as an LRU that is trimmed at the same moments.
      trims("orm-busy", "10 %", 11.7), trims("orm-night", "10 %", 6.3), trims("web12", "1 %", 59.8),
      trims("web12", "10 %", 31), trims("web07", "1 %", 60.5), trims("web07", "10 %", 44),
    ] + others
  }()

  private static let memory: [Goal] = {
    let cache = "LMDBCaching.MemoryCache"
    let dictionary = "Mutex<Dictionary>"
    func goal(
      _ workload: String, _ subject: String, _ peer: String, _ bound: Bound, threads: (Int, Int) = (1, 1)
    ) -> Goal {
      let count = threads.0 > 1 ? ", \(threads.0) threads" : ""
      return Goal(
        "\(workload) 200 k: \(subject)\(count) / \(peer)", bound,
        Selection(workload: workload, subject: subject, threads: threads.0),
        of: Selection(workload: workload, subject: peer, threads: threads.1)
      ) { $0.keys == 200_000 }
    }
    // Two threads compared with one, with few keys in common.
    func threads(_ content: String, _ title: String, keys: Int, _ limit: Double) -> Goal {
      Goal(
        "memory.get.threads \(content), \(title): \(cache), 2 threads / \(cache)", .workAtLeast(limit),
        Selection(workload: "memory.get.threads", subject: cache, threads: 2),
        of: Selection(workload: "memory.get.threads", subject: cache)
      ) { $0.content == content && $0.keys == keys }
    }
    return [
      threads("numbers", "100", keys: 100, 1.8), threads("numbers", "1 k", keys: 1_000, 1.8),
      threads("numbers", "10 k", keys: 10_000, 1.8), threads("objects", "10 k", keys: 10_000, 1.7),
      goal("memory.set.evicting", cache, cache, .workAtLeast(1.5), threads: (2, 1)),
      goal("memory.get.random", cache, dictionary, .timeAtMost(0.7)),
      goal("memory.get.random", "LMDBCaching.LMDBCache", dictionary, .timeAtMost(0.7)),
      goal("memory.get.random", cache, "Foundation.NSCache", .timeAtMost(0.2)),
      goal("memory.get.random", cache, cache, .workAtLeast(1.7), threads: (2, 1)),
      goal("memory.get.random", "LMDBCaching.LMDBCache, Codable struct", cache, .timeAtMost(1.3)),
      goal("memory.get.many64", cache, dictionary, .timeAtMost(0.35)),
      goal("memory.get.missing", cache, dictionary, .timeAtMost(0.7)),
      // The dictionary only inserts; the cache also evicts.
      goal("memory.set.evicting", cache, dictionary, .timeAtMost(1)),
    ]
  }()

  private static let disk: [Goal] = {
    func goal(
      _ workload: String, _ subject: String, _ peer: String, _ bound: Bound, size: Int = 100, _ text: String = "100 B"
    ) -> Goal {
      Goal(
        "\(workload) \(text): \(subject) / \(peer)", bound, Selection(workload: workload, subject: subject),
        of: Selection(workload: workload, subject: peer)
      ) { $0.valueSize == size }
    }
    func alone(_ workload: String, _ bound: Bound) -> Goal {
      let cache = "LMDBCaching, disk only"
      return Goal("\(workload): \(cache), \(bound.asked)", bound, Selection(workload: workload, subject: cache)) { _ in
        true
      }
    }
    let (committed, synchronizing) = ("LMDBCaching, disk only, until committed", "LMDB in C, synchronizing")
    return [
      goal("disk.set", "LMDBCaching, disk only", "LMDB in C", .timeAtMost(0.35), size: 4096, "4 KB"),
      goal("disk.set", "LMDBCaching, disk only", "LMDB in C", .timeAtMost(0.8), size: 102_400, "100 KB"),
      goal("disk.set.batch1000", committed, synchronizing, .timeAtMost(0.7), size: 4096, "4 KB"),
      goal("disk.set.batch1000", committed, synchronizing, .timeAtMost(0.7), size: 102_400, "100 KB"),
      goal(
        "disk.get.random", "LMDBCaching, disk only, withBytes", "LMDB in C", .timeAtMost(1.1), size: 102_400, "100 KB"),
      goal("disk.get.random", "LMDBCaching, disk only, Data", "LMDB in C", .timeAtMost(1.4), size: 102_400, "100 KB"),
      goal("disk.get.random", "LMDBCaching, disk only, withBytes", "LMDB in C", .timeAtMost(0.9)),
      goal("disk.get.random", "LMDBCaching, disk only, Data", "LMDB in C", .timeAtMost(1.25)),
      goal(
        "disk.get.random", "LMDBCaching, disk only, 64 at once", "LMDBCaching, disk only, Data", .timeAtMost(0.7)),
      goal("disk.set", "LMDBCaching, disk only", "SQLite (GRDB)", .fasterAtLeast(20)),
      // Compared with the floor that makes the same promise: each commit is synchronized.
      goal(
        "disk.set.batch1000", committed, synchronizing, .timeAtMost(1.2)),
      // Each survives the death of its process, but not a power cut.
      goal("disk.set.batch1000", "LMDBCaching, disk only", "LevelDB", .timeAtMost(1)),
      goal("disk.set.batch1000", "LMDBCaching, disk only, fast", "LevelDB", .timeAtMost(1)),
      Goal(
        "disk.reopenAfterKill: LMDBCaching, disk only, killed / closed", .timeAtMost(2),
        Selection(workload: "disk.reopenAfterKill", subject: "LMDBCaching, disk only, killed"),
        of: Selection(workload: "disk.reopenAfterKill", subject: "LMDBCaching, disk only, closed")
      ) { _ in true },
      alone("disk.space.everything", .nanosecondsAtMost(5e9)),
      alone("disk.space.everything", .readingAtMost(8, "megabytesLeft", unit: "MB left")),
      alone("disk.space.nineTenths", .nanosecondsAtMost(60e9)),
      alone("disk.space.nineTenths", .readingAtMost(1, "partOfLimit", unit: "× twice the live bytes and 16 MB")),
      alone("disk.space.nineTenths", .readingAtMost(5, "longestWaitMilliseconds", unit: "ms waited")),
      alone("disk.trim.toTenth", .nanosecondsAtMost(2_000)),
      Goal(
        "disk.get.struct: LMDBCaching.LMDBCache / LMDB in C and the decoder", .timeAtMost(1.2),
        Selection(workload: "disk.get.struct", subject: "LMDBCaching.LMDBCache"),
        of: Selection(workload: "disk.get.struct", subject: "LMDB in C, then the decoder")
      ) { _ in true },
    ]
  }()

  private static let changes: [Goal] = {
    func goal(_ workload: String, _ subject: String, _ peer: String, _ bound: Bound) -> Goal {
      let cache = "LMDBCaching.LMDBCache"
      return Goal(
        "\(workload): \(cache), \(subject) / \(peer)", bound,
        Selection(workload: workload, subject: "\(cache), \(subject)"),
        of: Selection(workload: workload, subject: "\(cache), \(peer)")
      ) { _ in true }
    }
    return [
      goal("cache.update", "update", "value and set", .timeAtMost(1.5)),
      goal("cache.loadHit", "value or load", "value", .timeAtMost(1.1)),
      goal("cache.tags", "tagged value", "value", .timeAtMost(1.1)),
    ]
  }()

  private static let remote: [Goal] = {
    func goal(_ workload: String, _ subject: String, _ peer: String, _ bound: Bound) -> Goal {
      Goal(
        "\(workload): \(subject) / \(peer)", bound, Selection(workload: workload, subject: subject),
        of: Selection(workload: workload, subject: peer)
      ) { _ in true }
    }
    let cache = "LMDBCaching.DistributedCache"
    return [
      goal("remote.localHit", cache, "LMDBCaching.LMDBCache", .timeAtMost(1.03)),
      goal("remote.hit", cache, "hiredis and the decoder", .timeAtMost(1.3)),
      goal("remote.setBehind", cache, "LMDBCaching.LMDBCache", .timeAtMost(1.5)),
      goal("remote.tasks64", "\(cache), 64 tasks", "redis-benchmark -P 16", .timeAtMost(1 / 0.7)),
    ]
  }()

  private static let archive: [Goal] = {
    func goals(
      _ content: String, _ subject: String, _ peer: String, encode: Bound, decode: Bound
    ) -> [Goal] {
      [("archive.encode", encode), ("archive.decode", decode)].map { workload, bound in
        Goal(
          "\(workload) \(content): \(subject) / \(peer)", bound, Selection(workload: workload, subject: subject),
          of: Selection(workload: workload, subject: peer)
        ) { $0.content == content }
      }
    }
    // Values with a raw form are stored without a coder.
    let stored = "LMDBCaching, as it is stored"
    func both(_ content: String, _ subject: String, _ peer: String, _ bound: Bound) -> [Goal] {
      goals(content, subject, peer, encode: bound, decode: bound)
    }
    return both("Int", stored, "JSONEncoder", .fasterAtLeast(15))
      + both("String of 20 bytes", stored, "JSONEncoder", .fasterAtLeast(15))
      + both("Data of 4 KB", stored, "memcpy", .timeAtMost(2))
      + both("struct of 5 fields", "CBORCoding.CBOREncoder", "JSONEncoder", .fasterAtLeast(5))
      + goals(
        "object of 5 fields", "CBORCoding.CBORKeyedArchiver", "NSKeyedArchiver", encode: .fasterAtLeast(200),
        decode: .fasterAtLeast(50))
  }()
}
