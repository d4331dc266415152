import Foundation
import TestSupport

/// Ways to run the tool with fewer privileges.
enum Restriction {
  private static func isDone(_ words: [String]) -> Bool {
    do {
      let process = try LaunchedProcess(
        URL(fileURLWithPath: "/usr/bin/env"), words, input: .nullDevice, output: .nullDevice, errors: .nullDevice)
      return process.wait().status == 0
    } catch {
      return false
    }
  }

  /// Runs as an unprivileged user.
  static let otherUser = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  /// Whether this process can switch users, and that user can read the tool.
  static let allowsOtherUser = isDone(otherUser + [Tool.path, "--version"])

  /// With a directory mounted read-only, for this process alone.
  static func readOnly(_ directory: String) -> [String] {
    [
      "unshare", "--mount", "sh", "-c",
      #"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#, directory,
    ]
  }

  static let allowsMounting = isDone(readOnly(NSTemporaryDirectory()) + ["true"])
}
