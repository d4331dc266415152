import LMDBCaching
import Reporting

/// Trims half of the entries while another thread reads, and reports the longest read.
enum MemoryTrim {
  static func workload(keys count: Int) -> Workload {
    Workload("memory.trim", Parameters(keys: count)) { setting in
      let values = (0..<count).map(Payload.init)
      var cache = OwnMemoryCache.makeCache(capacity: nil)
      var reader: StalledReader?
      return [
        Trial(
          OwnMemoryCache.name, operations: count / 2,
          before: {
            let filled = OwnMemoryCache.makeCache(capacity: nil)
            for value in values { filled.set(value, forKey: RequestKeys.text(value.number)) }
            cache = filled
            reader = StalledReader { _ = filled.value(forKey: RequestKeys.text($0 % count)) }
          },
          after: {
            guard cache.count == count / 2 else { throw WorkloadError("The trim left \(cache.count) entries.") }
            return ["longestWaitMilliseconds": reader?.stop() ?? 0]
          },
          body: { cache.trim(to: .count(count / 2)) })
      ]
    }
  }
}
