import Foundation

/// What a process does that a trial starts beside itself: one that is killed, or crashes, or holds a lock.
///
/// It is the same program, `soak`, called with `role NAME ARGUMENTS…`; `ChildProcess("soak", ["role", NAME, …])`
/// starts one from a trial and from a test alike.
package protocol TrialRole: SendableMetatype {
  static var name: String { get }
  static func run(_ arguments: [String]) throws
}

extension TrialRole {
  /// Answers with a line at once: what was answered was acknowledged, whenever the process is killed.
  package static func answer(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
