import Foundation
import LMDBCaching

/// Another process that has the cache open: `set KEY VALUE`, `get KEY`, `burst PREFIX FIRST COUNT`, `flush`, `close`.
enum DeletionRole: TrialRole {
  static let name = "deletion"

  static func run(_ arguments: [String]) throws {
    let cache = try TrialCache.open(arguments[0]) { $0.disk.groupCommitInterval = .milliseconds(2) }
    answer("open")
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do {
        answer(try perform(words, cache))
      } catch {
        answer("error \(error)")
      }
      if words.first == "close" { return }
    }
  }

  private static func perform(_ words: [String], _ cache: LMDBCache) throws -> String {
    switch words[0] {
    case "set": try cache.set(words[2], forKey: words[1])
    case "get": return try cache.value(String.self, forKey: words[1]) ?? "nil"
    case "burst":
      let first = Int(words[2])!
      for number in first..<first + Int(words[3])! { try cache.set("\(number)", forKey: words[1] + "\(number)") }
    case "flush": try cache.flush()
    case "close": try cache.close()
    default: return "unknown"
    }
    return "ok"
  }
}
