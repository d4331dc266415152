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

/// Environments that failed permanently, and are reopened.
@Suite struct ReopeningTests {
  let directory = TemporaryDirectory()
  var here: FaultInjection.Scope { .directory(directory.path) }

  /// Breaks it like a failed resize.
  private func loseMap(_ environment: Environment) {
    FaultInjection.with(here, .init(.envSetMapSize, returns: ENOMEM)) {
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .outOfMemory)
    }
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .panic)
  }

  @Test(arguments: [true, false]) func everythingIsThereAgain(_ isBroken: Bool) throws {
    let tracking = FaultInjection.begin(here)
    defer { FaultInjection.end(tracking) }
    let environment = try directory.open { $0.maxDatabases = 3 }
    let names = try ["b", "a", "c"].map { try environment.openDatabase(named: $0) }
    try environment.put([1], [1])
    for (index, database) in names.enumerated() {
      let transaction = try environment.beginWrite()
      try transaction.put([UInt8(index)], [7], in: database)
      try transaction.commit()
    }
    let (position, number) = (environment.lastPosition(), environment.lastTransactionID)
    if isBroken { loseMap(environment) }
    try environment.reopen()
    #expect(try environment.value([1]) == [1])
    for (index, database) in names.enumerated() {
      #expect(try environment.value([7], in: database) == [UInt8(index)])
    }
    #expect(try environment.openDatabase(named: "a") == names[1])
    // The transaction number has not changed.
    #expect(environment.lastTransactionID == number)
    #expect(environment.lastPosition() > position)
    try environment.put([2], [1])
    #expect(try environment.value([1]) == [2])
    #expect(environment.lastTransactionID == number + 1)
    #expect(try environment.displacement().isEmpty)
    environment.close()
    #expect(FaultInjection.report(tracking).openHandles == 0)
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func aSnapshotThatIsHeldKeepsItAsItIs() throws {
    let environment = try directory.open { $0.waits.adoption = 1_000_000 }
    defer { environment.close() }
    try environment.put([1], [1])
    try environment.withReadTransaction { (transaction) throws(LMDBError) in
      #expect(code { () throws(LMDBError) in try environment.reopen() } == .busy)
      #expect(try transaction.value([1]) == [1])
    }
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in try environment.reopen() } == .busy)
    transaction.abort()
    try environment.reopen()
    #expect(try environment.value([1]) == [1])
  }

  @Test(arguments: [FaultInjection.Call.envOpen, .envCreate, .txnBegin, .dbiOpen])
  func whatCannotBeOpenedIsTriedAgain(_ call: FaultInjection.Call) throws {
    let tracking = FaultInjection.begin(here)
    defer { FaultInjection.end(tracking) }
    let environment = try directory.open()
    try environment.put([1], [1])
    loseMap(environment)
    for _ in 0..<2 {
      FaultInjection.with(here, .init(call, returns: ENOSPC)) {
        #expect(code { () throws(LMDBError) in try environment.reopen() } == .noSpace)
      }
      #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .panic)
      #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .panic)
      #expect(openDescriptors(in: directory.path) == 0)
    }
    // Openers get the same, still unusable environment.
    #expect(try directory.open() === environment)
    environment.close()
    try environment.reopen()
    #expect(try environment.value([1]) == [1])
    environment.close()
    #expect(FaultInjection.report(tracking).openHandles == 0)
  }

  @Test func whatIsLostCanBeClosed() throws {
    let tracking = FaultInjection.begin(here)
    defer { FaultInjection.end(tracking) }
    let environment = try directory.open()
    try environment.put([1], [1])
    loseMap(environment)
    FaultInjection.with(here, .init(.envOpen, returns: EIO)) {
      #expect(code { () throws(LMDBError) in try environment.reopen() } == .ioError)
    }
    environment.close()
    #expect(FaultInjection.report(tracking).openHandles == 0)
    #expect(code { () throws(LMDBError) in try environment.reopen() } == .closed)
    let again = try directory.open()
    #expect(try again.value([1]) == [1])
    again.close()
  }

  @Test func damageIsNotLookedAtAgain() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    environment.breakOff()
    #expect(code { () throws(LMDBError) in try environment.reopen() } == .corrupted)
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .corrupted)
  }
}
