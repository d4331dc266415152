import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Forged numbers in the database's first pages. A file marked as sound gets no other check.
@Suite struct ForgedPagesTests {
  private func forge(_ cache: ForgedCache, _ change: (_ page: Int, _ start: Int, inout Data) -> Void) throws {
    let url = cache.directory.url("data.mdb")
    var bytes = try Data(contentsOf: url)
    let pageSize = bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    for page in 0..<2 { change(page, page * pageSize, &bytes) }
    try bytes.write(to: url, options: [])
  }

  private func put(_ number: UInt64, at offset: Int, into bytes: inout Data) {
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: offset, as: UInt64.self) }
  }

  @Test(arguments: [1 << 62, 1 << 63 - 1, 1 << 63, .max - 1, .max] as [UInt64], [false, true])
  func aForgedTransactionHarmsNothing(_ last: UInt64, _ isMarked: Bool) throws {
    let cache = try ForgedCache()
    try forge(cache) { page, start, bytes in
      put(last & 1 == UInt64(page) ? last : last - 1, at: start + 144, into: &bytes)
    }
    if isMarked { try TestingMark.write(in: cache.directory.path) }
    // A reader must not crash either.
    _ = try? CacheReader(directory: cache.directory.url)?.figures()
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Counts of branch, leaf and overflow pages in the main database's record.
  @Test(arguments: [1 << 52, 1 << 62, 1 << 63, .max] as [UInt64], [8, 16, 24])
  func aForgedCountOfPagesHarmsNothing(_ count: UInt64, _ offset: Int) throws {
    let cache = try ForgedCache()
    try forge(cache) { _, start, bytes in put(count, at: start + 88 + offset, into: &bytes) }
    try TestingMark.write(in: cache.directory.path)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// An entry claims an overflowing length in an empty segment. Runs in a child process, which a trap would end.
  @Test func aForgedLengthOfAValueHarmsNothing() async {
    await #expect(processExitsWith: .success) {
      for length: UInt64 in [1 << 32, 1 << 62, 1 << 63 - 64, 1 << 63 - 1] {
        let forged = try ForgedCache()
        try forged.forge(Array("large".utf8)) { old in
          var record = old!
          let place = record.count - 16
          record.withUnsafeMutableBytes { $0.storeBytes(of: length, toByteOffset: place, as: UInt64.self) }
          return record
        }
        let values = forged.directory.url("values")
        for name in try FileManager.default.contentsOfDirectory(atPath: values.path) {
          try Data().write(to: values.appendingPathComponent(name), options: [])
        }
        let clock = ManualClock()
        let cache = try forged.directory.open { $0.clock = .manual(clock) }
        try cache.set("v", forKey: "new")
        for _ in 0..<5 {
          // Before a job the writer thread does the periodic work that is due.
          clock.advance(by: .seconds(2))
          try cache.store.onWriterThread { .success(()) }
        }
        #expect(try cache.value(String.self, forKey: "new") == "v")
        try cache.close()
      }
    }
  }
}
