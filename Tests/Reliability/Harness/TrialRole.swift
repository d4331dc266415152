import Foundation
import LMDBCaching
import Logging
import TestSupport

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

  /// Prints a figure for ``TrialReport/add(_:of:)``.
  static func count(_ name: String, _ number: Int = 1) { answer("count \(number) \(name)") }
}

extension TrialReport {
  /// Adds the output of a role: figures, `count NUMBER NAME`, and failures.
  mutating func add(_ lines: [String], of title: String) {
    for line in lines {
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      if words.count == 3, words[0] == "count", let number = Int(words[1]) {
        count(words[2], number)
      } else {
        fail("\(title): \(line)")
      }
    }
  }

  /// Runs a role as a round. A process that crashes or hangs is a failure.
  mutating func run(
    _ role: any TrialRole.Type, _ arguments: [String], within seconds: Int, _ title: String
  ) throws {
    let outcome = try BoundedProcess.run("soak", ["role", role.name] + arguments, within: seconds)
    count("rounds")
    add(outcome.answers, of: title)
    if !outcome.isOrderly { fail("\(title): \(outcome.ending)") }
  }
}

enum TrialCache {
  /// The names of a cache's own files in its directory.
  static let fileNames: Set = [
    "clean-exit", "data.mdb", "fast-session", "journals", "lock.mdb", "processes.lock", "statistics", "values",
  ]

  static func open(_ path: String, _ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return try LMDBCache(directory: URL(fileURLWithPath: path, isDirectory: true), configuration: configuration)
  }
}
