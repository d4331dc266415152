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

  /// Mounts it. The process needs its own mount namespace, so that nothing stays mounted.
  func mount(at path: String, size: Int = Self.size) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    switch self {
    case .tmpfs: try Self.call("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", path)
    case .ext4:
      let image = path + ".image"
      try Data().write(to: URL(fileURLWithPath: image))
      try FileHandle(forWritingTo: URL(fileURLWithPath: image)).truncate(atOffset: UInt64(size))
      try Self.call("mkfs.ext4", "-q", "-m", "0", image)
      try Self.call("mount", "-o", "loop", image, path)
    case .limit: break
    }
  }

  /// Whether this machine can mount it: Linux, root, and the file system's tools.
  var isAvailable: Bool {
    #if os(Linux)
      if self == .limit { return true }
      guard getuid() == 0 else { return false }
      let path = NSTemporaryDirectory() + "full-disk-" + UUID().uuidString
      defer {
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: path + ".image")
      }
      let program = "mkdir -p \"$1\" && "
      let check =
        self == .tmpfs
        ? "mount -t tmpfs -o size=1m tmpfs \"$1\""
        : "truncate -s 1M \"$1.image\" && mkfs.ext4 -q \"$1.image\" && mount -o loop \"$1.image\" \"$1\""
      do {
        try Self.call("unshare", "-m", "sh", "-c", program + check, "sh", path)
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
