import Foundation
import TestSupport

/// Ways to run the tool with less than this process may do.
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

  /// As a user who owns nothing.
  static let otherUser = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  /// Whether that may be done, and the tool be read by that user.
  static let allowsOtherUser = isDone(otherUser + [Tool.path, "--version"])

  /// With a directory mounted read-only, for this process alone.
  static func readOnly(_ directory: String) -> [String] {
    [
      "unshare", "--mount", "sh", "-c",
      #"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#, directory,
    ]
  }

  /// Whether that may be done.
  static let allowsMounting = isDone(readOnly(NSTemporaryDirectory()) + ["true"])
}
