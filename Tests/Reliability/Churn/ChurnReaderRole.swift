import Foundation
import LMDBCaching

/// Holds a snapshot until it gets a line or is killed, then reports whether the snapshot stayed the same.
enum ChurnReaderRole: TrialRole {
  static let name = "churn-reader"

  static func run(_ arguments: [String]) throws {
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: arguments[0]),
      configuration: ChurnTrial.configuration(durability: arguments[1]).withoutMemory)
    try cache.read { snapshot in
      let before = try contents(of: snapshot)
      answer("held")
      _ = readLine()
      answer(try contents(of: snapshot) == before ? "same" : "changed")
    }
    try cache.close()
  }

  private static func contents(of snapshot: borrowing CacheSnapshot) throws -> [Data?] {
    var contents: [Data?] = []
    for index in 0..<50 { contents.append(try snapshot.value(Data.self, forKey: ChurnTrial.key(index))) }
    return contents
  }
}
