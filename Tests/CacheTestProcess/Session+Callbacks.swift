import Foundation
import LMDBCaching

extension Session {
  /// values ASYNCHRONOUSLY: stores values that use the cache when they are released, and releases them in every way.
  func useActingValues(asynchronously: Bool) throws -> String {
    let cache = try opened()
    cache.memory.releasesAsynchronously = asynchronously
    func store() throws { for index in 0..<60 { try cache.set(ActingValue(index), forKey: "t\(index)") } }
    try store()
    for index in 0..<10 { try cache.set("text", forKey: "t\(index)") }
    for index in 10..<20 { try cache.removeValue(forKey: "t\(index)") }
    cache.memory.trim(to: .count(30))
    // Runs on the writer thread; evicting from disk evicts from memory.
    try cache.disk.trim(to: .count(15))
    try store()
    try cache.trim(to: .count(30))
    try cache.disk.trim(to: .age(.zero))
    try cache.disk.trim(to: .count(0))
    try store()
    try cache.write { batch in
      for index in 0..<10 { batch.set("text", forKey: "t\(index)") }
      batch.removeAll(.prefix("t1"))
    }
    try cache.removeAll(.prefix("t2"))
    try cache.withoutMemory.removeAll(.prefix("t3"))
    cache.memory.removeAll()
    try store()
    try cache.flush()
    try cache.withoutMemory.removeAll()
    try store()
    try cache.removeAll()
    try cache.flush()
    try store()
    return "ok"
  }

  /// eventually KEY VALUE: waits until another process's write is visible.
  func awaitValue(_ key: String, _ value: String) throws -> String {
    let cache = try opened()
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let found = try cache.value(String.self, forKey: key)
      if found == value || ContinuousClock.now > deadline { return found ?? "nil" }
      usleep(5_000)
    }
  }
}
