import Reporting

/// Inserts every key once, in random order, into an empty subject.
///
/// A cache evicts once it is full. A dictionary keeps everything, so the comparison is with the time of an insertion.
/// Two threads insert half of the keys each.
enum MemorySet {
  static func workload(keys count: Int, capacity: Int?) -> Workload {
    let name = capacity == nil ? "memory.set" : "memory.set.evicting"
    return Workload(name, Parameters(keys: count, capacity: capacity)) { setting in
      var random = SplitMix(state: 3)
      let order = (0..<count).shuffled(using: &random)
      let values = order.map(Payload.init)
      let keys = RequestKeys(threads: 1, count: count) { _, request, _ in order[request] }
      func trials<S: MemorySubject>(_ type: S.Type, threads: [Int] = [1, 2]) throws -> [Trial] {
        let keys = keys.keys(for: type)[0]
        return threads.map { threads in
          var subject: S?
          return Trial(
            S.name, threads: threads, operations: count / threads,
            before: { subject = try S(capacity: capacity, setting) },
            verify: { try verify(subject!, keys, values, capacity) },
            after: {
              try subject?.finish()
              subject = nil
              return [:]
            },
            body: {
              if threads == 1 {
                try insert(&subject!, keys, values, 0..<count)
              } else {
                // Two threads need a subject that its copies share.
                let shared = subject!
                try onThreads(threads) { thread in
                  var shared = shared
                  try insert(&shared, keys, values, (count / threads * thread)..<(count / threads * (thread + 1)))
                }
              }
            })
        }
      }
      return try trials(OwnMemoryCache.self)
        + (capacity == nil ? trials(BareDictionary.self, threads: [1]) : trials(LockedLRU.self))
        + trials(LockedDictionary.self)
        + trials(FoundationCache.self)
    }
  }

  /// All present values are right, and no required value is missing.
  private static func verify<S: MemorySubject>(
    _ subject: S, _ keys: [S.Key], _ values: [Payload], _ capacity: Int?
  ) throws {
    var found = 0
    for (key, value) in zip(keys, values) {
      guard let number = try subject.number(forKey: key) else { continue }
      guard number == value.number else { throw WorkloadError("\(S.name) gave another value than it was given.") }
      found += 1
    }
    let most = S.knowsLimits ? capacity ?? keys.count : keys.count
    guard found <= most, found > most / 2 else {
      throw WorkloadError("\(S.name) has \(found) entries of \(keys.count), and may have \(most).")
    }
    if capacity == nil, found < keys.count { throw WorkloadError("\(S.name) lost \(keys.count - found) values.") }
  }

  @inline(never)
  private static func insert<S: MemorySubject>(
    _ subject: inout S, _ keys: [S.Key], _ values: [Payload], _ range: Range<Int>
  ) throws {
    for number in range { try subject.set(values[number], forKey: keys[number]) }
  }
}
