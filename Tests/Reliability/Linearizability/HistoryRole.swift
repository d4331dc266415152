import Foundation
import LMDBCaching
import TestSupport

/// Opens the cache, waits for a line, runs its operations on several threads, and writes their records to a file.
enum HistoryRole: TrialRole {
  static let name = "history"

  static func run(_ arguments: [String]) throws {
    let load = try JSONDecoder().decode(SharedLoad.self, from: Data(arguments[0].utf8))
    let cache = try LMDBCache(directory: URL(fileURLWithPath: load.directory), configuration: load.configuration)
    answer("open")
    _ = readLine()
    let failure = Guarded<(any Error)?>(nil)
    let buffers = (0..<load.threads).map { _ in HistoryBuffer(capacity: load.operations * 2) }
    concurrently(load.threads) { thread in
      do {
        var worker = HistoryWorker(load, thread, cache, buffers[thread])
        for _ in 0..<load.operations { try worker.step() }
      } catch {
        failure { $0 = error }
      }
    }
    if let failure = failure.current { throw failure }
    try HistoryFile.write(buffers, to: load.output)
    answer("done")
    // Closing commits values that other processes may still be waiting to read.
    try cache.close()
  }
}
