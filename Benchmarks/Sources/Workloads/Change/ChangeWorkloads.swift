import Foundation
import LMDBCaching
import Reporting

/// Atomic updates, and reads with a loader.
enum ChangeWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let keys = setting.pick(check: 200, quick: 1_000, full: 1_000)
    return [update(keys), loadHit(keys), tags(keys)]
  }

  /// Increments a stored number. No other process has the cache open.
  private static func update(_ count: Int) -> Workload {
    Workload("cache.update", Parameters(keys: count)) { setting in
      let keys = (0..<count).map(RequestKeys.text)
      return [
        try trial("LMDBCaching.LMDBCache, value and set", keys, setting) { cache, key in
          try cache.set((try cache.value(Int.self, forKey: key) ?? 0) + 1, forKey: key)
        },
        try trial("LMDBCaching.LMDBCache, update", keys, setting) { cache, key in
          try cache.update(Int.self, forKey: key) { $0 = ($0 ?? 0) + 1 }
        },
      ]
    }
  }

  /// Values in memory, without tags and with one each from a small set.
  private static func tags(_ count: Int) -> Workload {
    Workload("cache.tags", Parameters(keys: count)) { setting in
      let directory = try setting.directory()
      let cache = try LMDBCache(directory: directory)
      let keys = (0..<count).map(RequestKeys.text)
      let (passes, sum) = (200, keys.indices.reduce(0, +))
      func trial(_ name: String, _ prefix: String, isLast: Bool = false) throws -> Trial {
        let keys = keys.map { prefix + $0 }
        for (number, key) in keys.enumerated() {
          if prefix.isEmpty {
            try cache.set(number, forKey: key)
          } else {
            try cache.set(number, forKey: key, tags: ["group \(number % 10)"])
          }
        }
        return Trial(
          name, operations: count * passes,
          finish: {
            guard isLast else { return }
            try cache.removeAll(.tag("group 1"))
            guard try cache.value(Int.self, forKey: keys[1]) == nil, try cache.value(Int.self, forKey: keys[2]) == 2
            else {
              throw WorkloadError("A tag removed the wrong values.")
            }
            try cache.close()
            try setting.remove(directory)
          },
          body: {
            for _ in 0..<passes {
              var found = 0
              for key in keys { found &+= try cache.value(Int.self, forKey: key) ?? .min }
              guard found == sum else { throw WorkloadError("\(name) lost a value.") }
            }
          })
      }
      return [
        try trial("LMDBCaching.LMDBCache, value", ""),
        try trial("LMDBCaching.LMDBCache, tagged value", "t", isLast: true),
      ]
    }
  }

  private static func trial(
    _ name: String, _ keys: [String], _ setting: Setting, _ add: @escaping (LMDBCache, String) throws -> Void
  ) throws -> Trial {
    let directory = try setting.directory()
    let cache = try LMDBCache(directory: directory)
    let passes = 20
    var rounds = 0
    return Trial(
      name, operations: keys.count * passes,
      before: { rounds += passes },
      verify: {
        for key in keys where try cache.value(Int.self, forKey: key) != rounds {
          throw WorkloadError("\(name) lost an update of \(key).")
        }
      },
      after: {
        try cache.flush()
        return [:]
      },
      finish: {
        try cache.close()
        try setting.remove(directory)
      },
      body: { for _ in 0..<passes { for key in keys { try add(cache, key) } } })
  }

  /// Values in memory, read with a loader and all its options, compared with a plain read.
  private static func loadHit(_ count: Int) -> Workload {
    Workload("cache.loadHit", Parameters(keys: count)) { setting in
      var options = LoadOptions(lifetime: .seconds(3_600))
      options.jitter = 0.1
      options.refreshAhead = 0.9
      options.staleWhileRevalidate = .seconds(60)
      options.failSafe = .seconds(3_600)
      options.absenceLifetime = .seconds(10)
      options.timeLimit = .seconds(10)
      let directory = try setting.directory()
      let cache = try LMDBCache(directory: directory)
      let keys = (0..<count).map(RequestKeys.text)
      for (number, key) in keys.enumerated() {
        _ = try cache.value(Int.self, forKey: key, options: options) { _ in number }
      }
      let (passes, sum) = (200, keys.indices.reduce(0, +))
      func trial(_ name: String, isLast: Bool = false, _ get: @escaping (String) throws -> Int?) -> Trial {
        Trial(
          name, operations: count * passes,
          finish: {
            guard isLast else { return }
            guard cache.statistics.loads == count else { throw WorkloadError("A hit was loaded.") }
            try cache.close()
            try setting.remove(directory)
          },
          body: {
            for _ in 0..<passes {
              var found = 0
              for key in keys { found &+= try get(key) ?? .min }
              guard found == sum else { throw WorkloadError("\(name) lost a value.") }
            }
          })
      }
      return [
        trial("LMDBCaching.LMDBCache, value") { try cache.value(Int.self, forKey: $0) },
        trial("LMDBCaching.LMDBCache, value or load", isLast: true) { [options] in
          try cache.value(Int.self, forKey: $0, options: options) { _ in throw WorkloadError("A hit was loaded.") }
        },
      ]
    }
  }
}
