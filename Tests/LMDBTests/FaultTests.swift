import Foundation
import LMDB
import TestSupport
import Testing

/// Failures of LMDB's functions that are retried. `LMDBCachingTests` tries every other failure in its table of faults.
@Suite struct FaultTests {
  let directory = TemporaryDirectory()
  var here: FaultInjection.Scope { .directory(directory.path) }

  /// `MDB_MAP_RESIZED` after another process grew the map, and `MDB_BAD_RSLOT`.
  @Test(
    arguments: [(.txnRenew, -30785, 3), (.txnRenew, -30783, 2), (.txnBegin, -30785, 3)]
      as [(FaultInjection.Call, Int32, Int)])
  func aStateOfOtherProcessesIsOutlasted(call: FaultInjection.Call, _ status: Int32, _ count: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    #expect(try environment.value([1]) == [1])
    let session = FaultInjection.begin(here, [.init(call, returns: status, count: count)])
    if call == .txnRenew { #expect(try environment.value([1]) == [1]) } else { try environment.put([1], [1]) }
    #expect(FaultInjection.end(session).triggered > 1)
    if call == .txnBegin {
      // Forever.
      try FaultInjection.with(here, .init(call, returns: status, count: .max)) { () throws(LMDBError) in
        #expect(code { () throws(LMDBError) in try environment.put([2], [1]) } == .mapResized)
      }
    }
    try environment.put([3], [1])
    #expect(try environment.value([1]) == [3])
  }
}
