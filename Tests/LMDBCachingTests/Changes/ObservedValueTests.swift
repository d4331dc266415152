import Foundation
import Observation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ObservedValueTests {
  let directory = CacheDirectory()

  /// Reads in a tracked scope; the flag is set when something read has changed.
  private func changed(after read: () -> Void) -> Guarded<Bool> {
    let flag = Guarded(false)
    withObservationTracking(read) { flag { $0 = true } }
    return flag
  }

  @Test(arguments: ["set", "remove", "removeAll", "prefix", "batch", "disk", "tag", "process"])
  func readersOfAChangedValueAreNotified(_ what: String) async throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "key", tags: ["tag"])
    try await cache.flush()
    let observed = cache.observe(Int.self, forKey: "key")
    let change = changed { #expect(observed.value == 1) }
    let other = what == "process" ? try cacheProcess() : nil
    switch what {
    case "set": try cache.set(2, forKey: "key")
    case "remove": try cache.removeValue(forKey: "key")
    case "removeAll": try await cache.removeAll()
    case "prefix": try await cache.removeAll(.prefix("k"))
    case "batch": try await cache.write { $0.set(2, forKey: "key") }
    case "disk": try cache.withoutMemory.set(2, forKey: "key")
    case "tag": try await cache.removeAll(.tag("tag"))
    default:
      for command in ["open \(directory.path)", "remove key", "close"] { #expect(other?.run(command) == "ok") }
    }
    #expect(try await becomesTrue { change.current })
    #expect(observed.value == (["set", "batch", "disk"].contains(what) ? 2 : nil))
    try await cache.close()
    #expect(observed.value == nil)
    #expect(errorCode { _ = try observed.read() } == .closed)
  }

  @Test func unusedObservationsEnd() async throws {
    let cache = try directory.open()
    weak let observed: ObservedValue<Int>?
    do {
      let value = cache.observe(Int.self, forKey: "key")
      observed = value
      try cache.set(1, forKey: "key")
      #expect(value.value == 1)
    }
    #expect(observed == nil)
    #expect(try await becomesTrue { !cache.store.feed.isObserved.load(ordering: .acquiring) })
    try await cache.close()
  }

  @Test func unreadableValuesAreNil() async throws {
    let events = EventLog.Events()
    let cache = try directory.open { $0.logger = EventLog.logger(events) }
    let observed = cache.observe(Int.self, forKey: "key")
    try cache.set("text", forKey: "key")
    for _ in 0..<3 { #expect(observed.value == nil) }
    #expect(events.current.count { $0.message == "cache cannot be read and answers as if it were empty" } == 1)
    #expect(errorCode { _ = try observed.read() } != nil)
    try await cache.close()
  }
}
