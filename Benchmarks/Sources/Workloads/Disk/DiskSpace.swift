import Foundation
import LMDBCaching
import Reporting

/// Until the disk has back what a removal frees, while another thread reads; what is left is told, and the longest that it
/// waited.
enum DiskSpace {
  enum Removal: String, CaseIterable {
    case everything
    case nineTenths

    fileprivate func happen(to cache: DiskCache, of count: Int) throws {
      switch self {
      case .everything: try cache.removeAll()
      case .nineTenths: try cache.trim(toCount: count / 10)
      }
      try cache.flush()
    }
  }

  static func workload(_ removal: Removal, _ shape: DiskShape) -> Workload {
    Workload("disk.space.\(removal)", shape.parameters) { setting in
      let kind = DiskSubjectKind.diskCache()
      // What is left, and 16 MB.
      let live = removal == .everything ? 0 : shape.size * (shape.count / 10)
      let limit = removal == .everything ? 8 << 20 : 2 * live + (16 << 20)
      var directory: URL?
      var cache: DiskCache?
      var reader: StalledReader?
      let keys = shape.keys(seed: 12).strings
      return [
        Trial(
          kind.name, operations: 1,
          before: {
            let new = try setting.directory()
            directory = new
            try shape.filled(kind, in: new).close()
            let opened = try DiskCache(directory: new)
            cache = opened
            reader = StalledReader { _ = try opened.withBytes(forKey: keys[$0 % keys.count]) { $0.byteCount } }
          },
          after: {
            let wait = reader?.stop() ?? 0
            let left = try allocated(directory!)
            try cache?.close()
            cache = nil
            try setting.remove(directory!)
            return ["megabytesLeft": Double(left) / 1e6, "longestWaitMilliseconds": wait]
          },
          body: {
            try removal.happen(to: cache!, of: shape.count)
            let start = ContinuousClock.now
            while try allocated(directory!) > limit {
              if ContinuousClock.now - start > .seconds(120) { throw WorkloadError("The space is not given back.") }
              usleep(20_000)
            }
          })
      ]
    }
  }

  /// Bytes of the database's file, and of the value log beside it, on the disk.
  private static func allocated(_ directory: URL) throws -> Int {
    let log = directory.appendingPathComponent("values")
    // Segments go while they are looked at.
    let segments = (try? FileManager.default.contentsOfDirectory(atPath: log.path)) ?? []
    return try allocated(ofFile: directory.appendingPathComponent("data.mdb"))
      + segments.reduce(0) { $0 + ((try? allocated(ofFile: log.appendingPathComponent($1))) ?? 0) }
  }

  private static func allocated(ofFile file: URL) throws -> Int {
    var status = stat()
    guard stat(file.path, &status) == 0 else { throw WorkloadError("There is no \(file.path).") }
    return Int(status.st_blocks) * 512
  }
}
