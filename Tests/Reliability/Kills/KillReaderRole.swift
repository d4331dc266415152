import Foundation
import LMDBCaching
import TestSupport

/// Reads all the time, and prints a line for each fault and its totals at the end of its input.
enum KillReaderRole: TrialRole {
  static let name = "kill-reader"

  static func run(_ arguments: [String]) throws {
    let load = try KillLoad(arguments[0])
    let cache = try load.open()
    let isDone = Guarded(false)
    inBackground(DispatchGroup()) {
      while readLine() != nil {}
      isDone { $0 = true }
    }
    answer("open")
    var reader = KillReader(cache, load.seed)
    while !isDone.current {
      do { try reader.step() } catch { answer("failed: \(error)") }
    }
    answer("done \(reader.reads) \(reader.longest / 1_000)")
    try cache.close()
  }
}
