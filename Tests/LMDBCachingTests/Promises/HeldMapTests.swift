import Foundation
import LMDBCaching
import TestSupport
import Testing

/// A map that must grow while a reader uses it.
@Suite struct HeldMapTests {
  let directory = CacheDirectory()

  private static func text(_ index: Int) -> String { String(repeating: "m", count: 2_000) + String(index) }

  /// The map grows later; nothing is evicted.
  @Test func aSnapshotThatLastsEvictsNothing() throws {
    let cache = try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.disk.mapSize = 1 << 20
    }
    // A page each: nearly fills the map's 256 pages in few commits.
    for index in 0..<200 { try cache.set(Self.text(index), forKey: "k\(index)") }
    try cache.flush()
    let (isHeld, isOver, group) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
    inBackground(group) {
      let code = errorCode {
        try cache.read { snapshot in
          isHeld.signal()
          isOver.wait()
          let first = try snapshot.value(String.self, forKey: "k0")
          #expect(first == Self.text(0))
        }
      }
      #expect(code == nil)
    }
    isHeld.wait()
    let isWritten = finishes {
      for index in 200..<1_000 {
        let code = errorCode { try cache.set(Self.text(index), forKey: "k\(index)") }
        #expect(code == nil, "k\(index)")
        // Fills the map step by step, until a commit waits for readers.
        if index.isMultiple(of: 8), index < 240 { _ = errorCode { try cache.flush() } }
      }
    }
    #expect(isWritten)
    isOver.signal()
    group.wait()
    #expect(eventually { errorCode { try cache.flush() } == nil && cache.health.isHealthy })
    #expect(try cache.statistics.diskEvictions == 0 && cache.count == 1_000)
    cache.memory.removeAll()
    for index in 0..<1_000 { #expect(try cache.value(String.self, forKey: "k\(index)") == Self.text(index)) }
    try cache.close()
  }
}
