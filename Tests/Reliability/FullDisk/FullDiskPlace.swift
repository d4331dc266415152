import Foundation
import TestSupport

/// What a cache of the trial is on, and how that gets full.
enum FullDiskPlace: String, CaseIterable {
  case tmpfs
  /// On a loop device.
  case ext4
  /// The limit of file sizes, `ulimit -f`.
  case limit

  /// Bytes of the small file systems.
  static let size = 5 << 20

  /// Mounts it, for this process and those that it starts alone: it has to be in a mount namespace of its own, so that
  /// nothing is left whatever happens.
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

  /// Whether there is what it takes: Linux, root, and the file system's tools.
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
    if process.wait() != .exit(0) { throw FullDiskFailure(message: "\(words) ended with an error") }
  }
}
