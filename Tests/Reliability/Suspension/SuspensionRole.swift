import Foundation
import LMDBCaching

/// Writes forever, and prints the number of each acknowledged write: `DIRECTORY PREFIX FIRST`. Every seventh value
/// goes to the value log.
enum SuspensionRole: TrialRole {
  static let name = "suspension"
  static let keys = 100

  static func run(_ arguments: [String]) throws {
    let cache = try TrialCache.open(arguments[0]) {
      $0.disk.groupCommitInterval = .milliseconds(1)
      $0.disk.lockTimeout = SuspensionTrial.lockTimeout
      $0.disk.inlineThreshold = 4_096
      // Small enough to fill up now and then.
      $0.disk.journalSize = 1 << 17
    }
    var number = Int(arguments[2])!
    while true {
      // Not acknowledged while writes are in memory only, since those die with the process.
      do throws(CacheError) {
        let length = number % 7 == 0 ? 10_000 : number % 500
        try cache.withoutMemory.set(
          "\(number);" + String(repeating: "x", count: length), forKey: arguments[1] + "\(number % keys)")
        answer("\(number)")
        number += 1
        if number % 50 == 0 { try cache.flush() }
      } catch {
        guard error.code == .lockTimeout || error.code == .notCommitted else { throw error }
        answer("held up")
        usleep(1_000)
      }
    }
  }
}
