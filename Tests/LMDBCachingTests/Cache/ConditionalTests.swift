import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Conditional operations, with and without another process.
@Suite struct ConditionalTests {
  let directory = CacheDirectory()

  /// The other process lives as long as the test.
  private func open(
    _ company: Company, _ change: (inout CacheConfiguration) -> Void = { _ in }
  ) throws -> (LMDBCache, ChildProcess?) {
    (try directory.open(change), try company.join(directory))
  }

  private func close(_ cache: LMDBCache, _ child: ChildProcess?) throws {
    child?.end()
    try cache.close()
  }

  /// A cache without a memory tier has no observers that a batch would notify.
  @Test(arguments: [false, true]) func aBatchIsAConflict(_ removes: Bool) throws {
    let disk = try directory.openDisk()
    try disk.set(1, forKey: "key")
    var calls = 0
    let sum = try disk.update(Int.self, forKey: "key") { value in
      calls += 1
      if calls == 1 {
        concurrently(1) { _ in
          #expect(throws: Never.self) {
            try disk.write { if removes { $0.removeValue(forKey: "key") } else { $0.set(10, forKey: "key") } }
          }
        }
      }
      value = (value ?? 0) + 1
    }
    #expect(sum == (removes ? 1 : 11) && calls == 2)
    try disk.close()
  }

  /// A use of the cache within a closure, and whether it changes the entry "key", tagged "tag".
  struct Use: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let isOfKey: Bool
    let run: @Sendable (LMDBCache) throws -> Void

    init(_ name: String, isOfKey: Bool = true, _ run: @escaping @Sendable (LMDBCache) throws -> Void) {
      (testDescription, self.isOfKey, self.run) = (name, isOfKey, run)
    }

    static let own: [Use] = [
      Use("set") { try $0.set(1, forKey: "key") },
      Use("set in the disk tier") { try $0.withoutMemory.set(1, forKey: "key") },
      Use("set a long value") { try $0.set(Data(count: 10_000), forKey: "key") },
      Use("set if absent") { _ = try $0.set(1, forKey: "key", if: .absent) },
      Use("remove") { try $0.removeValue(forKey: "key") },
      Use("increment") { try $0.increment(forKey: "key") },
      Use("touch") { try $0.touch(forKey: "key", expires: .never) },
      Use("exchange") { try $0.exchange(1, forKey: "key") },
      Use("update") { try $0.update(Int.self, forKey: "key") { $0 = 1 } },
      Use("update in an update") { cache in
        try cache.update(Int.self, forKey: "other") { _ in try cache.increment(forKey: "key") }
      },
      Use("removeAll") { try $0.removeAll() },
      Use("remove a tag") { try $0.removeAll(.tag("tag")) },
      Use("batch of a prefix") { try $0.write { $0.removeAll(.prefix("ke")) } },
    ]

    static let others: [Use] = [
      // Enough keys to cover every key group.
      Use("sets") { cache in for n in 0..<8_000 { try cache.set(n, forKey: "other\(n)") } },
      Use("update") { try $0.update(Int.self, forKey: "other") { $0 = 1 } },
      Use("batch") { cache in
        try cache.write {
          $0.set(1, forKey: "other")
          $0.removeAll(.prefix("keys"))
        }
      },
      Use("look") { cache in
        _ = try cache.value(Int.self, forKey: "key", expires: .sliding(.seconds(1)))
        _ = try cache.value(Int.self, forKey: "key") { _ in 1 }
        _ = try cache.entries(withPrefix: "key")
        try cache.flush()
      },
      Use("a failure is caught") { try? $0.set(1, forKey: "key") },
    ].map { Use($0.testDescription + " of others", isOfKey: false, $0.run) }
  }

  /// A closure that changes its own entry would deadlock; any other use is allowed.
  @Test(arguments: Company.allCases, Use.own + Use.others) func closuresUseTheCache(
    _ company: Company, _ use: Use
  ) async throws {
    let (cache, child) = try open(company)
    try cache.set(7, forKey: "key", tags: ["tag"])
    let calls = Mutex(0)
    let change: @Sendable (inout Int?) throws -> Void = { value in
      calls.withLock { $0 += 1 }
      try use.run(cache)
      value = (value ?? 0) + 1
    }
    func inThread() throws { try cache.update(Int.self, forKey: "key", change) }
    let code = errorCode { try inThread() }
    let taskCode = await errorCode { try await cache.update(Int.self, forKey: "key", change) }
    #expect(code == (use.isOfKey ? .recursiveUpdate : nil) && taskCode == code)
    #expect(calls.withLock { $0 } == 2)
    #expect(try cache.value(Int.self, forKey: "key") == (use.isOfKey ? 7 : 9))
    // The key is free again.
    try use.run(cache)
    try close(cache, child)
  }

  @Test(arguments: Company.allCases) func updatesThatWaitForThemselvesEnd(_ company: Company) throws {
    let (cache, child) = try open(company) { $0.disk.lockTimeout = .milliseconds(50) }
    var calls = 0
    let code = errorCode {
      try cache.update(Int.self, forKey: "key") { number in
        calls += 1
        let call = calls
        concurrently(1) { _ in
          do { try cache.set(call, forKey: "key") } catch { Issue.record(error) }
        }
        number = 0
      }
    }
    #expect(code == .recursiveUpdate && calls == 4)
    #expect(try cache.value(Int.self, forKey: "key") == 4)
    try close(cache, child)
  }

  @Test(arguments: Company.allCases) func closuresThatWriteEachOthersEntriesEnd(_ company: Company) throws {
    let (cache, child) = try open(company)
    concurrently(2) { thread in
      for _ in 0..<20 {
        do {
          try cache.update(Int.self, forKey: "key\(thread)") { number in
            try cache.set(thread, forKey: "key\(1 - thread)")
            usleep(500)
            number = thread
          }
        } catch {
          Issue.record(error)
        }
      }
    }
    try close(cache, child)
  }

  /// Touching a damaged entry must not mark it as sound.
  @Test(arguments: Company.allCases) func damagedEntriesAreNotTouched(_ company: Company) throws {
    var cache = try directory.open()
    try cache.set("a short text", forKey: "key of the short one")
    try cache.set(Data(repeating: 7, count: 100_000), forKey: "key of the long one")
    try cache.close()
    directory.damage { file in
      for key in ["key of the short one", "key of the long one"] {
        var end = 0
        while let place = file.range(of: Data(key.utf8), in: end..<file.count) {
          file[place.upperBound + RecordHeader.baseSize + 4] ^= 1
          end = place.upperBound
        }
      }
    }
    let child: ChildProcess?
    (cache, child) = try open(company)
    for key in ["key of the short one", "key of the long one"] {
      #expect(errorCode { try cache.touch(forKey: key, expires: .after(.seconds(10))) } == .corruptedRecord)
      #expect(try cache.entry(forKey: key)?.expiration == nil)
      try cache.set(1, forKey: key)
      #expect(try cache.touch(forKey: key, expires: .after(.seconds(10))))
    }
    try close(cache, child)
  }
}
