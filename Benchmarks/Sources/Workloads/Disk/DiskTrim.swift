import Foundation
import LMDBCaching
import Reporting

/// Trims half of the entries while another thread reads, and reports the longest read.
enum DiskTrim {
  static func workload(keys count: Int) -> Workload {
    Workload("disk.trim", Parameters(keys: count, valueSize: 100)) { setting in
      var cache: LMDBCache?
      var reader: StalledReader?
      return [
        Trial(
          "LMDBCaching, disk only", operations: count / 2,
          before: {
            let filled = try LMDBCache.diskOnly(directory: try setting.directory())
            let value = Data(repeating: 7, count: 100)
            for number in 0..<count { try filled.set(value, forKey: RequestKeys.text(number)) }
            try filled.flush()
            cache = filled
            reader = StalledReader { _ = try filled.value(Data.self, forKey: RequestKeys.text($0 % count)) }
          },
          after: {
            let wait = reader?.stop() ?? 0
            guard let cache, try cache.count == count / 2 else { throw WorkloadError("The trim left another count.") }
            try cache.close()
            try setting.remove(cache.directory)
            return ["longestWaitMilliseconds": wait]
          },
          body: { try cache?.trim(to: .count(count / 2)) })
      ]
    }
  }

  /// Trims to a tenth, without a concurrent reader.
  static func most(keys count: Int) -> Workload {
    Workload("disk.trim.toTenth", Parameters(keys: count, valueSize: 100)) { setting in
      var cache: LMDBCache?
      let value = Data(repeating: 7, count: 100)
      return [
        Trial(
          "LMDBCaching, disk only", operations: count - count / 10,
          before: {
            let filled = try LMDBCache.diskOnly(directory: try setting.directory())
            for start in stride(from: 0, to: count, by: 1_000) {
              try filled.write { batch in
                for number in start..<min(start + 1_000, count) {
                  batch.set(value, forKey: RequestKeys.text(number))
                }
              }
            }
            try filled.flush()
            cache = filled
          },
          after: {
            guard let cache, try cache.count == count / 10 else { throw WorkloadError("The trim left another count.") }
            try cache.close()
            try setting.remove(cache.directory)
            return [:]
          },
          body: { try cache?.trim(to: .count(count / 10)) })
      ]
    }
  }
}
