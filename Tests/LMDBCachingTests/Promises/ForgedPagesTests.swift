import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Numbers in the first pages of the database's file that LMDB never writes. Where the file is marked as sound nothing else
/// of it is looked at.
@Suite struct ForgedPagesTests {
  /// Changes both meta pages.
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
    // Who looks without opening it is told the same, and lives.
    _ = try? CacheReader(directory: cache.directory.url)?.figures()
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Of branch, leaf and overflow pages, in the main database's record.
  @Test(arguments: [1 << 52, 1 << 62, 1 << 63, .max] as [UInt64], [8, 16, 24])
  func aForgedCountOfPagesHarmsNothing(_ count: UInt64, _ offset: Int) throws {
    let cache = try ForgedCache()
    try forge(cache) { _, start, bytes in put(count, at: start + 88 + offset, into: &bytes) }
    try TestingMark.write(in: cache.directory.path)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// An entry says that more of a segment is in use than a number can tell, and the segment is empty.
  @Test(arguments: [1 << 32, 1 << 62, 1 << 63 - 64, 1 << 63 - 1] as [UInt64])
  func aForgedLengthOfAValueHarmsNothing(_ length: UInt64) throws {
    let cache = try ForgedCache()
    var isLong = false
    try cache.forge(Array("large".utf8)) { old in
      guard var record = old, record.count > 32 else { return old }
      isLong = true
      let place = record.count - 16
      record.withUnsafeMutableBytes { $0.storeBytes(of: length, toByteOffset: place, as: UInt64.self) }
      return record
    }
    #expect(isLong)
    let values = cache.directory.url("values")
    for name in try FileManager.default.contentsOfDirectory(atPath: values.path) {
      try Data().write(to: values.appendingPathComponent(name), options: [])
    }
    let child = try cacheProcess()
    #expect(child.run("open \(cache.directory.path)") == "ok")
    // The keeper of segments looks about every second.
    #expect(child.run("set new v") == "ok" && child.run("flush") == "ok")
    Thread.sleep(forTimeInterval: 2.5)
    #expect(child.run("get new") == "v")
    #expect(child.run("close") == "ok")
  }
}
