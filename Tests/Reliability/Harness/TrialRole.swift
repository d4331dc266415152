import Foundation

/// A child process of a trial: one that is killed, crashes, or holds a lock.
///
/// `ChildProcess("soak", ["role", NAME, …])` starts one, from a trial or a test.
package protocol TrialRole: SendableMetatype {
  static var name: String { get }
  static func run(_ arguments: [String]) throws
}

extension TrialRole {
  /// Writes a line at once, unbuffered: once printed, it counts as acknowledged even if the process is killed.
  package static func answer(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
