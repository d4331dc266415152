import Foundation
import LMDBCaching
import Reporting

/// Measures when the disk gets back the space of a removal, while another thread reads and, if entries are left, one
/// writes. Also reports the space used a while later, and the longest read.
enum DiskSpace {
  enum Removal: String, CaseIterable {
    case everything
    case nineTenths

    fileprivate func happen(to cache: LMDBCache, of count: Int) throws {
      switch self {
      case .everything: try cache.removeAll()
      case .nineTenths: try cache.trim(to: .count(count / 10))
      }
      try cache.flush()
    }
  }

  /// How many of the keys the writer rewrites.
  private static let written = 500
  /// How long after the space is back the remaining space is measured. The writer continues until then.
  private static let pause: Duration = .seconds(3)

  static func workload(_ removal: Removal, _ shape: DiskShape) -> Workload {
    Workload("disk.space.\(removal)", shape.parameters) { setting in
      let kind = DiskSubjectKind.diskCache()
      // The live values and 16 MB, less than the journal of a steady writer. If little is left, there must be room for
      // the journal and for a segment of overwritten values.
      let live = removal == .everything ? 0 : shape.size * (shape.count / 10)
      let room = setting.scale == .full ? 0 : 64_000_000
      let limit = removal == .everything ? 8_000_000 : 2 * live + 16_000_000 + room
      var directory: URL?
      var cache: LMDBCache?
      var reader: StalledReader?
      var writer: SteadyWriter?
      var end: ContinuousClock.Instant?
      let value = shape.replacement
      let keys = shape.keys(seed: 12).strings
      return [
        Trial(
          kind.name, operations: 1,
          before: {
            let new = try setting.directory()
            directory = new
            try shape.filled(kind, in: new).close()
            let opened = try LMDBCache.diskOnly(directory: new)
            cache = opened
            reader = StalledReader { _ = try opened.withBytes(forKey: keys[$0 % keys.count]) { $0.byteCount } }
            if removal == .everything { return }
            let some = min(written, max(1, keys.count / 20))
            writer = SteadyWriter { try opened.set(value, forKey: keys[$0 % some]) }
          },
          after: {
            let wait = reader?.stop() ?? 0
            while setting.scale == .full, let end, ContinuousClock.now - end < Self.pause { usleep(20_000) }
            let left = try allocated(directory!)
            let writes = writer?.stop() ?? 0
            try cache?.close()
            cache = nil
            try setting.remove(directory!)
            writer = nil
            return [
              "megabytesLeft": Double(left) / 1e6, "partOfLimit": Double(left) / Double(limit),
              "longestWaitMilliseconds": wait, "writes": Double(writes),
            ]
          },
          body: {
            try removal.happen(to: cache!, of: shape.count)
            let start = ContinuousClock.now
            while try allocated(directory!) > limit {
              if ContinuousClock.now - start > .seconds(120) { throw WorkloadError("The space is not given back.") }
              usleep(20_000)
            }
            end = ContinuousClock.now
          })
      ]
    }
  }

  /// Allocated bytes of the cache's directory, including the journal.
  private static func allocated(_ directory: URL) throws -> Int {
    var bytes = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
      let file = directory.appendingPathComponent(name)
      var status = stat()
      // Segments may be deleted at any time.
      guard lstat(file.path, &status) == 0 else { continue }
      bytes += status.st_mode & S_IFMT == S_IFDIR ? try allocated(file) : Int(status.st_blocks) * 512
    }
    return bytes
  }
}
