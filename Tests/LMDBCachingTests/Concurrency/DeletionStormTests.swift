import Platform
import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct DeletionStormTests {
  let directory = CacheDirectory()

  @Test(arguments: [UInt64](1...2)) func readersAndWritersGoOn(_ seed: UInt64) throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let ends = Guarded(false)
    let group = DispatchGroup()
    for writer in 0..<2 {
      inBackground(group) {
        var number = 0
        while !ends.current {
          let key = "\(writer)/\(number % 50)"
          do {
            try cache.set(payload(key, number, 40), forKey: key)
            // No other writer uses this key.
            let value = try cache.value(String.self, forKey: key)
            #expect(value == nil || value == payload(key, number, 40))
            _ = try cache.withoutMemory.value(String.self, forKey: key)
          } catch let error as CacheError where [.storageFailed, .invalidDirectory].contains(error.code) {
            // The journal was full before the files were there again.
          } catch {
            Issue.record(error)
          }
          number += 1
        }
      }
    }
    inBackground(group) {
      var random = SeededRandom(seed &+ 7)
      while !ends.current {
        do {
          let key = "\(random.below(2))/\(random.below(50))"
          let value = try cache.value(String.self, forKey: key)
          #expect(value?.hasPrefix(key + "#") ?? true)
          try cache.withBytes(forKey: key) { bytes in #expect(bytes.byteCount > 0) }
          _ = try cache.read { try $0.value(String.self, forKey: key) }
        } catch let error as CacheError where error.code == .notCommitted {
          // The files were deleted during the opening.
        } catch {
          Issue.record(error)
        }
      }
    }
    var random = SeededRandom(seed)
    let harms: [FileHarm] = [.data, .lockFile, .both, .everything, .theDirectory, .processLock]
    for round in 0..<12 {
      let harm = harms[random.below(harms.count)]
      do { try harm.happen(to: directory, directory) } catch {}  // Not there yet.
      #expect(eventually { cache.statistics.reopenings > round }, "\(harm)")
    }
    ends { $0 = true }
    group.wait()
    #expect(eventually { cache.health.isHealthy })
    // The cache works as before the storm.
    for index in 0..<100 { try cache.set(index, forKey: "after\(index)") }
    #expect(eventually { (try? cache.flush()) != nil })
    try cache.close()
    let again = try directory.open()
    for index in 0..<100 { #expect(try again.value(Int.self, forKey: "after\(index)") == index) }
    try again.close()
  }

  @Test(arguments: [FileHarm.data, .lockFile, .both, .theDirectory, .replacedData, .replacedPair])
  func twoProcessesEndUpInOneFile(_ harm: FileHarm) throws {
    let other = CacheDirectory()
    let made = try other.open()
    try made.set("other", forKey: "other")
    try made.close()
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(5) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=5") == "ok")
    try cache.set("mine", forKey: "mine")
    #expect(child.run("set its its") == "ok")
    try cache.flush()
    #expect(child.run("flush") == "ok")
    try harm.happen(to: directory, other)
    let start = ContinuousClock.now
    #expect(child.run("set its after") == "ok")
    try cache.set("after", forKey: "mine")
    let isShared = eventually(within: .seconds(30)) {
      child.run("get mine") == "after" && (try? cache.value(String.self, forKey: "its")) == "after"
    }
    #expect(isShared)
    #expect(ContinuousClock.now - start < .seconds(30))
    let data = try Paths.identity(of: directory.path + "/data.mdb")
    #expect(child.run("inode data.mdb") == data.map { "\($0.inode)" })
    let lockFile = try Paths.identity(of: directory.path + "/lock.mdb")
    #expect(child.run("inode lock.mdb") == lockFile.map { "\($0.inode)" })
    #expect(cache.store.environment.files.data == data)
    #expect(cache.store.environment.files.lockFile == lockFile)
    for index in 0..<100 {
      try cache.set(index, forKey: "m\(index)")
      #expect(child.run("set i\(index) \(index)") == "ok")
    }
    try cache.flush()
    #expect(child.run("flush") == "ok")
    for index in 0..<100 {
      #expect(try cache.value(String.self, forKey: "i\(index)") == "\(index)")
    }
    #expect(child.run("close") == "ok")
    try cache.close()
    let again = try directory.open()
    #expect(try again.value(Int.self, forKey: "m99") == 99)
    #expect(try again.value(String.self, forKey: "i99") == "99")
    try again.close()
  }
}
