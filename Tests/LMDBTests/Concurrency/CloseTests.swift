import LMDB
import Synchronization
import Testing

@Suite struct CloseTests {
  let directory = TemporaryDirectory()

  @Test func readersThatRunFinishAndNewOnesAreRefused() throws {
    for _ in 0..<30 {
      let environment = try directory.open()
      try environment.put([1, 2], [1])
      let refused = Atomic<Int>(0)
      let reads = Atomic<Int>(0)
      onThreads(5) { index in
        if index == 0 {
          while reads.load(ordering: .relaxed) < 200 { yieldThread() }
          environment.close()
          return
        }
        while true {
          do throws(LMDBError) {
            #expect(try environment.value([1]) == [1, 2])
            _ = try environment.info()
            reads.add(1, ordering: .relaxed)
          } catch {
            #expect(error.code == .closed)
            refused.add(1, ordering: .relaxed)
            return
          }
        }
      }
      #expect(refused.load(ordering: .relaxed) == 4)
      #expect(openDescriptors(in: directory.path) == 0)
    }
  }

  @Test func writersThatWaitAreRefused() throws {
    let environment = try directory.open()
    let transaction = try environment.beginWrite()
    try transaction.put([1], [1])
    let isWaiting = Atomic<Bool>(false)
    let threads = [
      startThread {
        while !environment.isClosed { yieldThread() }
        #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .closed)
        isWaiting.store(true, ordering: .releasing)
      },
      startThread { environment.close() },
    ]
    while !isWaiting.load(ordering: .acquiring) { yieldThread() }
    try transaction.commit()
    threads.forEach { join($0) }
    #expect(openDescriptors(in: directory.path) == 0)
    let again = try directory.open()
    #expect(try again.value([1]) == [1])
    again.close()
  }

  /// A close during a read of the same thread takes bounded time, and then closes the files.
  @Test func closingInsideARead() throws {
    func use() throws(LMDBError) {
      let environment = try directory.open { $0.waits.close = 10_000_000 }
      try environment.put([1, 2], [1])
      try environment.withReadTransaction { transaction throws(LMDBError) in
        environment.close()
        #expect(try transaction.value([1]) == [1, 2])
        #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .closed)
      }
    }
    try use()
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func openingAgainWhileTheCloseWaits() throws {
    let environment = try directory.open { $0.waits.close = 10_000_000 }
    try environment.put([1], [1])
    try environment.withReadTransaction { _ throws(LMDBError) in
      environment.close()
      #expect(environment.isClosed)
    }
    let again = try directory.open()
    #expect(again === environment)
    #expect(!environment.isClosed)
    #expect(try environment.value([1]) == [1])
    again.close()
    #expect(openDescriptors(in: directory.path) == 0)
  }
}
