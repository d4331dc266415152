import LMDB
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@Suite struct FaultTests {
  let directory = TemporaryDirectory()

  var here: FaultInjection.Scope { .directory(directory.path) }

  static let statuses: [(Int32, LMDBError.Code)] = [
    (EIO, .ioError), (ENOSPC, .noSpace), (-30795, .panic), (-30792, .mapFull), (-30796, .corrupted),
  ]

  @Test(arguments: FaultCase.opening, statuses)
  func aFailedOpenLeavesNothing(call: FaultInjection.Call, status: (Int32, LMDBError.Code)) throws {
    let session = FaultInjection.begin(
      .directory(directory.path), [.init(call, returns: status.0, count: .max)])
    var failure: LMDBError?
    do throws(LMDBError) {
      try directory.open { $0.maxDatabases = 1 }.close()
    } catch {
      failure = error
    }
    let report = FaultInjection.end(session)
    #expect(failure?.code == status.1)
    #expect(failure?.status == status.0)
    #expect(failure?.operation == call.rawValue)
    #expect(report.triggered == 1)
    #expect(report.openHandles == 0)
    #expect(openDescriptors(in: directory.path) == 0)

    let environment = try directory.open()
    try environment.put([1], [1])
    environment.close()
  }

  @Test(arguments: FaultCase.running, statuses)
  func aFailureIsNamedAndLeaksNothing(fault: FaultCase, status: (Int32, LMDBError.Code)) throws {
    let tracking = FaultInjection.begin(here)
    defer { FaultInjection.end(tracking) }
    let environment = try directory.open { $0.maxDatabases = 1 }
    try environment.put([1], [1])
    try environment.put([2], [2])
    #expect(try environment.value([1]) == [1])
    let before = FaultInjection.report(tracking).openHandles

    let session = FaultInjection.begin(
      .directory(directory.path), [.init(fault.call, returns: status.0, first: fault.first, count: .max)])
    var failure: LMDBError?
    do throws(LMDBError) { try fault.operation(directory, environment) } catch { failure = error }
    #expect(FaultInjection.end(session).triggered > 0)
    #expect(failure?.code == status.1)
    #expect(failure?.status == status.0)
    #expect(failure?.operation == fault.call.rawValue)
    #expect(failure?.message.isEmpty == false)

    #expect(FaultInjection.report(tracking).openHandles == before)
    try environment.withReadTransaction { transaction throws(LMDBError) in
      #expect(try transaction.all() == [Pair([1], [1]), Pair([2], [2])])
    }
    try environment.put([3], [3])
    try environment.growMap(to: 1 << 30)
    #expect(try environment.value([3]) == [3])
    environment.close()
    #expect(FaultInjection.report(tracking).openHandles == 0)
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func aMapThatIsLostEndsTheEnvironment() throws {
    let tracking = FaultInjection.begin(here)
    defer { FaultInjection.end(tracking) }
    let environment = try directory.open()
    try environment.put([1], [1])
    FaultInjection.with(here, .init(.envSetMapSize, returns: ENOMEM)) {
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .outOfMemory)
    }
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .panic)
    #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .panic)
    environment.close()
    #expect(FaultInjection.report(tracking).openHandles == 0)
    let again = try directory.open()
    #expect(try again.value([1]) == [1])
    again.close()
  }

  @Test(arguments: [FaultInjection.Call.txnRenew, .txnBegin])
  func anotherProcessGrewTheMap(call: FaultInjection.Call) throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    #expect(try environment.value([1]) == [1])
    // MDB_MAP_RESIZED, a few times.
    try FaultInjection.with(here, .init(call, returns: -30785, count: 3)) {
      () throws(LMDBError) in
      if call == .txnRenew {
        #expect(try environment.value([1]) == [1])
      } else {
        try environment.put([2], [1])
      }
    }
    // Forever.
    try FaultInjection.with(here, .init(.txnBegin, returns: -30785, count: .max)) {
      () throws(LMDBError) in
      #expect(code { () throws(LMDBError) in try environment.put([2], [1]) } == .mapResized)
    }
    try environment.put([3], [1])
    #expect(try environment.value([1]) == [3])
  }

  @Test func aFullReaderTableIsLookedThrough() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try FaultInjection.with(here, .init(.txnBegin, returns: -30790, count: 2)) {
      () throws(LMDBError) in
      #expect(try environment.value([1]) == nil)
    }
    let session = FaultInjection.begin(here, [.init(.txnBegin, returns: -30790)])
    let other = try directory.open()
    other.close()
    #expect(FaultInjection.end(session).triggered == 0)
  }

  @Test func aFullReaderTableWhileOpening() throws {
    let session = FaultInjection.begin(here, [.init(.txnBegin, returns: -30790)])
    let environment = try directory.open()
    let report = FaultInjection.end(session)
    #expect(report.triggered == 1)
    #expect(report.calls[.readerCheck] == 1)
    environment.close()
  }

  @Test func aLostReaderSlotIsReplaced() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    #expect(try environment.value([1]) == [1])
    // MDB_BAD_RSLOT, twice.
    try FaultInjection.with(here, .init(.txnRenew, returns: -30783, count: 2)) {
      () throws(LMDBError) in
      #expect(try environment.value([1]) == [1])
    }
    #expect(try environment.value([1]) == [1])
  }

  @Test func noAddressSpaceHalvesTheMap() throws {
    let session = FaultInjection.begin(here, [.init(.envOpen, returns: ENOMEM, count: 3)])
    let environment = try directory.open { $0.mapSize = 1 << 30 }
    #expect(FaultInjection.end(session).triggered == 3)
    #expect(try environment.info().mapSize == 1 << 27)
    environment.close()

    let endless = FaultInjection.begin(here, [.init(.envOpen, returns: ENOMEM, count: .max)])
    #expect(code { () throws(LMDBError) in _ = try directory.open { $0.mapSize = 1 << 30 } } == .outOfMemory)
    let report = FaultInjection.end(endless)
    #expect(report.triggered == 5)
    #expect(report.openHandles == 0)
  }

  @Test func aFaultOfOneThreadIsNoFaultOfAnother() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    try FaultInjection.with(.currentThread, .init(.get, returns: EIO)) { () throws(LMDBError) in
      onThreads(1) { _ in
        #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == nil)
      }
      #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .ioError)
      #expect(try environment.value([1]) == [1])
    }
  }
}
