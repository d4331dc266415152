import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Readers without an open cache, during constant writes, trims and removals.
@Suite struct CacheReaderStormTests {
  let directory = CacheDirectory()

  @Test func everyLookIsOfOneState() throws {
    let cache = try directory.open { configuration in
      configuration.disk.groupCommitInterval = .zero
      configuration.disk.valueSegmentSize = 1 << 18
      configuration.disk.journalSize = 1 << 16
    }
    defer { try? cache.close() }
    // Each batch writes its number to every key, with a new length.
    let keys = (0..<12).map { "key:\($0)" }
    @Sendable func write(_ number: Int) throws {
      try cache.write { batch in
        for (index, key) in keys.enumerated() {
          batch.set(Data(repeating: UInt8(number & 255), count: index == 3 ? 5_000 : 1 + number % 500), forKey: key)
        }
      }
    }
    try write(0)
    let isDone = Atomic<Bool>(false)
    let looks = Atomic<Int>(0)
    let reader = try directory.reader()
    concurrently(4) { thread in
      do {
        if thread == 0 {
          defer { isDone.store(true, ordering: .releasing) }
          var number = 1
          while number < 400 || looks.load(ordering: .relaxed) < 150, number < 1_000_000 {
            try write(number)
            if number % 50 == 0 { try cache.sweepValues() }
            if number % 97 == 0 {
              try cache.removeAll()
              try write(number)
            }
            number += 1
          }
          return
        }
        while !isDone.load(ordering: .acquiring) {
          let page = try reader.page(withPrefix: "key:", limit: 100)
          // If writers are too fast, the page is partial.
          let sizes = Set(page.entries.filter { $0.key != "key:3" }.map(\.size))
          if sizes.count > 1 { Issue.record("of several states: \(sizes)") }
          if page.next == nil, ![0, keys.count].contains(page.entries.count) {
            Issue.record("\(page.entries.count) entries")
          }
          if let value = try reader.value(Data.self, forKey: "key:3") {
            if value.count != 5_000 || Set(value).count != 1 { Issue.record("another value") }
          }
          looks.add(1, ordering: .relaxed)
        }
      } catch {
        Issue.record(error)
        isDone.store(true, ordering: .releasing)
      }
    }
    #expect(looks.load(ordering: .relaxed) >= 150)
  }

  @Test func aCacheInUseCanBeVerified() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .zero }
    defer { try? cache.close() }
    for number in 0..<2_000 { try cache.set("value \(number)", forKey: "key:\(number)") }
    try cache.flush()
    let isDone = Atomic<Bool>(false)
    let verified = Atomic<Int>(0)
    concurrently(2) { thread in
      do {
        if thread == 0 {
          var number = 0
          while !isDone.load(ordering: .acquiring), number < 10_000_000 {
            try cache.set(Data(count: number % 4_000), forKey: "key:\(number % 2_000)")
            number += 1
          }
          return
        }
        defer { isDone.store(true, ordering: .releasing) }
        for round in 0..<6 {
          let report = try CacheInspection.verify(directory: directory.url, checksValues: round % 2 == 0)
          if report.damagedEntries > 0 { Issue.record("\(report.damage)") }
          if round % 2 == 0, report.entries != 2_000 { Issue.record("\(report.entries) entries") }
          verified.add(1, ordering: .relaxed)
        }
      } catch {
        Issue.record(error)
        isDone.store(true, ordering: .releasing)
      }
    }
    #expect(verified.load(ordering: .relaxed) == 6)
  }
}
