import CacheModel
import Foundation
import TestSupport
import Testing

/// Random histories of the public interface and a dictionary. A failure prints the shortest history found, for
/// ``ModelHistory/pinned``.
@Suite struct CacheModelTests {
  private func check(_ history: ModelHistory) throws {
    let directory = CacheDirectory()
    let failure = try onThread(stack: 8 << 20) {
      Result { try history.failure(startingChildrenBy: "CacheTestProcess", ["model"], in: directory.path) }
    }.get()
    if let failure { Issue.record("\(failure)") }
  }

  @Test(arguments: 1...24 as ClosedRange<UInt64>) func theCacheIsADictionary(_ seed: UInt64) throws {
    try check(ModelHistory(seed: seed, count: 250))
  }

  @Test(arguments: ModelHistory.pinned.indices) func foundBugsDoNotComeBack(_ index: Int) throws {
    try check(ModelHistory.pinned[index].history)
  }
}
