import Foundation
import LMDBCaching
import TestSupport

/// Fills and frees small file systems, and lowers the file-size limit, while processes use a cache and die. One count
/// is a round of some hundred steps.
package struct FullDiskTrial: Trial {
  package static let name = "full-disk"
  package static let summary = "The disk fills up and is freed again, the process dies; nothing stored is lost."
  package static let defaultCount = 120

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    let places = FullDiskPlace.allCases.filter(\.isAvailable)
    func run(_ role: [String], hasOwnMounts: Bool, _ title: String) throws {
      let words = [ChildProcess.path(of: "soak"), "role"] + role
      let unshare = hasOwnMounts ? ["unshare", "-m", "--propagation", "private"] : []
      let stage = try ChildProcess(URL(fileURLWithPath: "/usr/bin/env"), unshare + words)
      report.add(stage.readRemaining(), of: title)
      if stage.end() != .exit(0) { report.fail("\(title): the process has ended by itself") }
    }
    // Hashing gigabytes takes a sanitizer minutes.
    if places.contains(.tmpfs), !Sanitizer.address.isActive, !Sanitizer.thread.isActive {
      let isLong = settings.count >= 100 && LongValueStage.hasMemory
      for way in isLong ? ["cut", "longest"] : ["cut"] {
        try run([LongValueStage.name, way, settings.directory + "/\(way)"], hasOwnMounts: true, "long values")
      }
    }
    for round in 0..<settings.count where !places.isEmpty {
      let place = places[round % places.count]
      let durability = Durability.allCases[round / places.count % 3]
      let (seed, directory) = (random.next(), settings.directory + "/\(round)")
      report.count("rounds")
      report.count("rounds on \(place)")
      try run(
        [FullDiskStage.name, place.rawValue, directory, "\(seed)", "\(durability.rawValue)", "250"],
        hasOwnMounts: place != .limit, "round \(round) on \(place) (.\(durability), seed \(seed))")
      if report.isPassed {
        try FileManager.default.removeItem(atPath: directory)
        if place == .ext4 { try FileManager.default.removeItem(atPath: directory + ".image") }
      }
    }
    return report
  }
}

/// The kind of storage under the cache, and how it fills up.
enum FullDiskPlace: String, CaseIterable {
  case tmpfs
  case ext4
  /// A file-size limit, as with `ulimit -f`.
  case limit

  /// Makes a directory, and mounts a file system of some bytes there.
  private var script: String {
    let mount =
      switch self {
      case .tmpfs: "mount -t tmpfs -o size=$2 tmpfs \"$1\""
      case .ext4: "truncate -s $2 \"$1.image\" && mkfs.ext4 -q -m 0 \"$1.image\" && mount -o loop \"$1.image\" \"$1\""
      case .limit: "true"
      }
    return "mkdir -p \"$1\" && \(mount)"
  }

  /// Mounts it. The process needs its own mount namespace, so that nothing stays mounted.
  func mount(at path: String, size: Int = 5 << 20) throws {
    try Self.call("sh", "-c", script, "sh", path, "\(size)")
  }

  /// Whether this machine can mount it: Linux, root, and the file system's tools.
  var isAvailable: Bool {
    #if os(Linux)
      if self == .limit { return true }
      guard getuid() == 0 else { return false }
      let path = NSTemporaryDirectory() + "full-disk-" + UUID().uuidString
      defer { for name in [path, path + ".image"] { try? FileManager.default.removeItem(atPath: name) } }
      return (try? Self.call("unshare", "-m", "sh", "-c", script, "sh", path, "\(1 << 20)")) != nil
    #else
      return false
    #endif
  }

  private static func call(_ words: String...) throws {
    let outcome = try BoundedProcess.run("/usr/bin/env", words)
    if !outcome.isOrderly { throw CacheError(.storageFailed, "\(words) ended with an error") }
  }
}
