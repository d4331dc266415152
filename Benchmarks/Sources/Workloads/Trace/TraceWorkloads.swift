import Foundation
import Reporting

/// Requests of real programs to a cache with room for a thousandth to a fifth of the objects, or a tenth of their total
/// cost. Missing objects are set. Every round starts with an empty cache.
enum TraceWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let names = setting.pick(
      check: ["web07"], quick: ["web07", "web12", "orm-busy", "orm-night"],
      full: ["web07", "web12", "orm-busy", "orm-night"])
    let parts = [1_000, 100, 10, 5]
    return names.flatMap { name in parts.map { memory(name, part: $0) } } + names.map { costs($0) }
      + names.flatMap { name in
        // The long traces would trim by a hundredth 60,000 times.
        (name.hasPrefix("web") ? [100, 10] : [10]).map { disk(name, part: $0) }
      }
  }

  private static func memory(_ name: String, part: Int) -> Workload {
    workload("trace.\(name)", name, part) { requests, capacity, _ in
      [
        trial(requests, capacity) { OwnTraceCache(capacity: capacity) },
        trial(requests, capacity) { LockedTraceLRU(capacity: capacity) },
      ]
        // NSCache takes too long with more.
        + (requests.count < 1_000_000
          ? [trial(requests, capacity) { FoundationTraceCache(capacity: capacity) }] : [])
    }
  }

  private static func costs(_ name: String) -> Workload {
    Workload("trace.\(name)", Parameters(content: "10 %, costs")) { setting in
      let requests = try requests(name, setting)
      let costLimit = Set(requests).reduce(0) { $0 + TraceCost.of($1) } / 10
      return [
        trial(requests, costLimit) { OwnCostedTraceCache(costLimit: costLimit) },
        trial(requests, costLimit) { LockedCostedTraceLRU(costLimit: costLimit) },
      ]
    }
  }

  private static func disk(_ name: String, part: Int) -> Workload {
    workload("trace.disk.\(name)", name, part) { requests, capacity, setting in
      var directory: URL?
      return [
        trial(requests, capacity) {
          directory = try setting.directory()
          return try OwnDiskTraceCache(capacity: capacity, directory: directory!)
        } after: {
          if let directory { try setting.remove(directory) }
        }, trial(requests, capacity) { TrimmedTraceLRU(capacity: capacity) },
      ]
    }
  }

  private static func workload(
    _ title: String, _ name: String, _ part: Int, _ trials: @escaping ([UInt32], Int, Setting) throws -> [Trial]
  ) -> Workload {
    Workload(title, Parameters(content: "\(part > 100 ? "0.1" : String(100 / part)) %")) { setting in
      let requests = try requests(name, setting)
      return try trials(requests, Set(requests).count / part, setting)
    }
  }

  private static func requests(_ name: String, _ setting: Setting) throws -> [UInt32] {
    try Trace.load(setting.traces.appendingPathComponent("\(name).trace.xz"))
  }

  private static func trial<S: TraceSubject>(
    _ requests: [UInt32], _ capacity: Int, _ make: @escaping () throws -> S, after: @escaping () throws -> Void = {}
  ) -> Trial {
    var cache: S?
    var hits = 0
    return Trial(
      S.name, operations: requests.count,
      before: { cache = try make() },
      after: {
        cache = nil
        try after()
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
