import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueLogDamageTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  enum Harm: CaseIterable { case deletedFolder, deletedFiles, movedFolder, olderCopies }

  private func happen(_ harm: Harm) throws {
    switch harm {
    case .deletedFolder: try FileManager.default.removeItem(at: directory.url("values"))
    case .movedFolder: try FileManager.default.moveItem(at: directory.url("values"), to: directory.url("elsewhere"))
    case .deletedFiles, .olderCopies:
      for segment in directory.segments {
        let older = directory.contents(segment).prefix(1_000)
        try FileManager.default.removeItem(at: directory.url(segment))
        if harm == .olderCopies { directory.write(older, to: segment) }
      }
    }
  }

  static let repairs: [FaultInjection.Rule?] = [
    nil, FaultInjection.Rule(.mkdirat, returns: ENOSPC), FaultInjection.Rule(.flock, returns: EIO),
    FaultInjection.Rule(.pwrite, returns: ENOSPC),
    // The first call synchronizes the values before the commit.
    FaultInjection.Rule(.fsync, returns: EIO, first: 2),
  ]

  /// If the repair fails, a later commit makes it.
  @Test(arguments: Harm.allCases, repairs)
  func segmentsComeBackForWhatIsNotCommitted(_ harm: Harm, _ rule: FaultInjection.Rule?) throws {
    let cache = try values.open { neverCommitting(&$0) }
    try values.fill(cache, 0..<5)
    try happen(harm)
    if let rule {
      fail(rule) { _ = errorCode { try cache.flush() } }
      values.clock.advance(by: .seconds(40))
    }
    #expect(eventually { (try? cache.flush()) != nil })
    try values.expect(cache, 0..<5)
    try values.expectCountsAreRight(cache)
    try values.fill(cache, 5..<10)
    try cache.close()
    let reopened = try values.open()
    try values.expect(reopened, 0..<10)
    try reopened.close()
  }

  @Test func aSegmentThatIsCutOffIsAnErrorAndNoSignal() throws {
    let cache = try values.open()
    let large = Data(repeating: 9, count: 1_000_000)
    try cache.set(large, forKey: "key")
    try cache.flush()
    #expect(try cache.withBytes(forKey: "key") { $0.byteCount } == large.count)
    for size in [500_000, 100, 0] {
      truncate(directory.url(directory.segments[0]).path, off_t(size))
      #expect(errorCode { _ = try cache.withBytes(forKey: "key") { $0.byteCount } } == .corruptedRecord)
      #expect(errorCode { _ = try cache.value(Data.self, forKey: "key") } == .corruptedRecord)
    }
    try cache.set(large, forKey: "key")
    #expect(try cache.value(Data.self, forKey: "key") == large)
    try cache.close()
  }

  /// The system reports a failed write once, and treats the bytes as written from then on.
  @Test func whatCouldNotBeSynchronizedIsWrittenAgain() throws {
    let log = try values.log()
    // Makes the names of the folder and the segment durable.
    try values.append(0, to: log).end()
    try log.synchronize()
    let first = try values.append(1, to: log)
    fail(.init(.fsync, returns: EIO, count: 1)) { #expect(throws: SystemError.self) { try log.synchronize() } }
    let second = try values.append(2, to: log)
    #expect(second.pointer.segment != first.pointer.segment)
    fail(.init(.pwrite, returns: EIO, count: 1)) { #expect(throws: SystemError.self) { try log.synchronize() } }
    try log.synchronize()
    let third = try values.append(3, to: log)
    try fail(.init(.pwrite, returns: EIO, count: 1)) { try log.synchronize() }
    let reader = ValueReader(CurrentDirectory(try Directory(path: directory.path)), segmentSize: 1 << 20)
    for value in [first, second, third] {
      #expect(try reader.isIntact(value.pointer))
      value.end()
    }
    log.close()
  }

  private func fail(_ rule: FaultInjection.Rule, _ body: () throws -> Void) rethrows {
    let session = FaultInjection.begin(.directory(directory.path + "/values"), [rule])
    defer { FaultInjection.end(session) }
    try body()
  }
}
