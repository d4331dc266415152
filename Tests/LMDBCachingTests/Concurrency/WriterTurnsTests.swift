import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct WriterTurnsTests {
  let directory = CacheDirectory()

  @Test(.timeLimit(.minutes(5))) func aStreamOfWritesKeepsNobodyOut() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .zero }
    try cache.set(Data(count: 10_000), forKey: "long", expires: .after(.seconds(86_400)))
    let isDone = Atomic<Bool>(false)
    concurrently(3) { thread in
      do {
        if thread == 0 {
          defer { isDone.store(true, ordering: .relaxed) }
          for _ in 0..<20 {
            #expect(try cache.touch(forKey: "long", expires: .after(.seconds(86_400))))
            try cache.disk.trim(to: .limits)
          }
        }
        var number = 0
        while !isDone.load(ordering: .relaxed) {
          try cache.set(number, forKey: "key\(thread)-\(number % 1_000)")
          number += 1
        }
      } catch {
        Issue.record(error)
      }
    }
    try cache.close()
  }
}
