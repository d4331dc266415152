import Foundation
import TestSupport

/// The kind of storage under the cache, and how it fills up.
enum FullDiskPlace: String, CaseIterable {
  case tmpfs
  case ext4
  /// A file-size limit, as with `ulimit -f`.
  case limit

  /// Size of the small file systems, in bytes.
  static let size = 5 << 20

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
  func mount(at path: String, size: Int = Self.size) throws {
    try Self.call("sh", "-c", script, "sh", path, "\(size)")
  }

  /// Whether this machine can mount it: Linux, root, and the file system's tools.
  var isAvailable: Bool {
    #if os(Linux)
      if self == .limit { return true }
      guard getuid() == 0 else { return false }
      let path = NSTemporaryDirectory() + "full-disk-" + UUID().uuidString
      defer { for name in [path, path + ".image"] { try? FileManager.default.removeItem(atPath: name) } }
      do {
        try Self.call("unshare", "-m", "sh", "-c", script, "sh", path, "\(1 << 20)")
        return true
      } catch {
        return false
      }
    #else
      return false
    #endif
  }

  private static func call(_ words: String...) throws {
    guard let nowhere = FileHandle(forUpdatingAtPath: "/dev/null") else { throw POSIXError(.ENOENT) }
    let process = try LaunchedProcess(
      URL(fileURLWithPath: "/usr/bin/env"), words, input: nowhere, output: nowhere, errors: nowhere)
    if process.wait() != .exit(0) { throw FullDiskFailure("\(words) ended with an error") }
  }
}
