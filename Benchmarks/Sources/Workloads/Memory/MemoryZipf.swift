import Reporting
import Synchronization

/// Zipf-distributed reads (exponent 0.99, as in YCSB) from a cache with room for a tenth of the keys, which sets
/// missing ones. A dictionary holds all. Rounds continue through a long list of requests, so that a cache cannot learn
/// it. The hit ratio is that of the second half of the list, on its first pass.
enum MemoryZipf {
  static func workload(keys count: Int, capacity: Int) -> Workload {
    Workload("memory.get.zipf", Parameters(keys: count, capacity: capacity)) { setting in
      var random = SplitMix(state: 4)
      let zipf = Zipf(count: count, exponent: 0.99, using: &random)
      let length = setting.pick(check: 20_000, quick: 600_000, full: 2_000_000)
      let keys = RequestKeys(threads: 2, count: length) { _, _, random in zipf.draw(using: &random) }
      let all = (0..<count).map(Payload.init)
      let values = keys.numbers.map { $0.map { all[$0] } }
      let requests = length / 4
      let numbers = keys.numbers[0]
      func trials<S: MemorySubject>(_ type: S.Type) throws -> [Trial] {
        let keys = keys.keys(for: type)
        var new = try S(capacity: capacity, setting)
        _ = try hits(&new, keys[0], values[0], 0..<(length / 2))
        let hitRatio = Double(try hits(&new, keys[0], values[0], (length / 2)..<length)) / Double(length / 2)
        let subject = new
        for (key, number) in zip(keys[0], numbers).prefix(10_000) {
          if let found = try subject.number(forKey: key), found != number {
            throw WorkloadError("\(S.name) gave another value than it was given.")
          }
        }
        return [1, 2].map { threads in
          var start = 0
          return Trial(
            S.name, threads: threads, operations: requests,
            after: {
              start = (start + requests) % length
              return ["hitRatio": hitRatio]
            },
            finish: { if threads == 2 { try subject.finish() } },
            body: {
              let range = start..<(start + requests)
              try onThreads(threads) { thread in
                var subject = subject
                _ = try hits(&subject, keys[thread], values[thread], range)
              }
            })
        }
      }
      return try trials(OwnMemoryCache.self) + trials(LockedLRU.self) + trials(LockedDictionary.self)
        + trials(FoundationCache.self)
    }
  }

  @inline(never)
  private static func hits<S: MemorySubject>(
    _ subject: inout S, _ keys: [S.Key], _ values: [Payload], _ range: Range<Int>
  ) throws -> Int {
    var hits = 0
    for request in range {
      if try subject.number(forKey: keys[request]) != nil {
        hits += 1
      } else {
        try subject.set(values[request], forKey: keys[request])
      }
    }
    return hits
  }
}
