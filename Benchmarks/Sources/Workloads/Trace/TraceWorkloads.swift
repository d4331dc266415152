import Reporting

/// Requests of real programs, read through a cache that holds a hundredth and a tenth of the objects: what is missing is
/// set. Every round begins with an empty cache.
enum TraceWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let names = setting.pick(
      check: ["web07"], quick: ["web07", "web12", "orm-busy", "orm-night"],
      full: ["web07", "web12", "orm-busy", "orm-night"])
    return names.flatMap { name in [100, 10].map { workload(name, part: $0) } }
  }

  private static func workload(_ name: String, part: Int) -> Workload {
    Workload("trace.\(name)", Parameters(content: part == 100 ? "1 %" : "10 %")) { setting in
      let requests = try Trace.load(setting.traces.appendingPathComponent("\(name).trace.xz"))
      let capacity = Set(requests).count / part
      return [
        trial(OwnTraceCache.self, requests, capacity), trial(LockedTraceLRU.self, requests, capacity),
      ]
        // Which takes too long with more.
        + (requests.count < 1_000_000 ? [trial(FoundationTraceCache.self, requests, capacity)] : [])
    }
  }

  private static func trial<S: TraceSubject>(_ type: S.Type, _ requests: [UInt32], _ capacity: Int) -> Trial {
    var cache: S?
    var hits = 0
    return Trial(
      S.name, operations: requests.count,
      before: { cache = S(capacity: capacity) },
      after: {
        cache = nil
        return ["hitRatio": Double(hits) / Double(requests.count), "capacity": Double(capacity)]
      },
      body: { hits = replay(requests, cache!) })
  }

  @inline(never)
  private static func replay<S: TraceSubject>(_ requests: [UInt32], _ cache: S) -> Int {
    var hits = 0
    for key in requests {
      if cache.contains(key) { hits += 1 } else { cache.insert(key) }
    }
    return hits
  }
}
