import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct TagProcessTests {
  let directory = CacheDirectory()

  @Test func aRemovalReachesEveryProcess() throws {
    let cache = try directory.open()
    let children = try (0..<2).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path)") == "ok") }
    for round in 0..<10 {
      for (index, child) in children.enumerated() {
        #expect(child.run("settagged key\(index) \(round) odd\(round % 2) tag\(index)") == "ok")
        #expect(child.run("flush") == "ok")
      }
      try cache.set("own", forKey: "own", tags: ["odd\(round % 2)"])
      try cache.flush()
      // Loads them into every memory tier.
      for index in 0..<2 {
        #expect(try cache.value(String.self, forKey: "key\(index)") == "\(round)")
        for child in children { #expect(child.run("get key\(index)") == "\(round)") }
      }
      #expect(children[0].run("removetag tag1") == "ok")
      #expect(children[0].run("flush") == "ok")
      #expect(try cache.value(String.self, forKey: "key1") == nil)
      #expect(children[1].run("get key1") == "nil")
      #expect(children[1].run("get key0") == "\(round)")
      try cache.removeAll(.tag("odd\((round + 1) % 2)"))
      try cache.flush()
      for child in children { #expect(child.run("get key0") == "\(round)") }
      #expect(children[1].run("removetag odd\(round % 2)") == "ok")
      #expect(children[1].run("flush") == "ok")
      for key in ["key0", "own"] {
        #expect(try cache.value(String.self, forKey: key) == nil)
        for child in children { #expect(child.run("get \(key)") == "nil") }
      }
    }
    for child in children { child.end() }
    try cache.close()
  }

  /// A write made before another process's removal but committed after it stays removed; a later write stays.
  @Test func whatWaitsIsOlderThanTheRemoval() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=600000") == "ok")
    try cache.set("untagged", forKey: "before")
    try cache.flush()
    #expect(child.run("settagged before waiting tag") == "ok")
    #expect(child.run("get before") == "waiting")
    try cache.removeAll(.tag("tag"))
    try cache.flush()
    #expect(child.run("get before") == "nil")
    #expect(child.run("settagged after waiting tag") == "ok")
    #expect(child.run("flush") == "ok")
    #expect(child.run("get before") == "nil")
    #expect(child.run("get after") == "waiting")
    // Nor does the value it replaced.
    #expect(try cache.value(String.self, forKey: "before") == nil)
    #expect(try cache.value(String.self, forKey: "after") == "waiting")
    child.end()
    try cache.close()
  }

  /// Also checks the writes before and after the removal.
  @Test(arguments: [20, 600_000]) func aKilledProcesssRemovalHolds(_ interval: Int) throws {
    for round in 0..<4 {
      let child = try cacheProcess()
      #expect(child.run("open \(directory.path) interval=\(interval)") == "ok")
      for index in 0..<20 { #expect(child.run("settagged key\(index) \(round) tag\(index % 2)") == "ok") }
      #expect(child.run("removetag tag1") == "ok")
      #expect(child.run("settagged key3 again tag1") == "ok")
      child.kill()
      let cache = try directory.open()
      for index in 0..<20 {
        let expected = index == 3 ? "again" : index % 2 == 1 ? nil : "\(round)"
        #expect(
          try eventually { try cache.value(String.self, forKey: "key\(index)") == expected },
          "key\(index), round \(round)")
      }
      try cache.close()
    }
  }

  /// A suspended process's pending writes are older than the removal.
  @Test func aSuspendedProcess() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=600000") == "ok")
    #expect(child.run("settagged key waiting tag") == "ok")
    child.suspend()
    try cache.removeAll(.tag("tag"))
    try cache.flush()
    try cache.disk.trim(to: .limits)
    child.resume()
    #expect(child.run("get key") == "nil")
    #expect(child.run("flush") == "ok")
    #expect(try cache.value(String.self, forKey: "key") == nil)
    child.end()
    try cache.close()
  }

  /// A process whose write was removed sees a later committed write, even before it commits.
  @Test func aWriteAfterARemovalIsSeenByAll() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=600000") == "ok")
    #expect(child.run("settagged key waiting tag") == "ok")
    try cache.removeAll(.tag("tag"))
    try cache.set("later", forKey: "key", tags: ["tag"])
    try cache.flush()
    #expect(child.run("get key") == "later")
    #expect(child.run("flush") == "ok")
    #expect(child.run("get key") == "later")
    #expect(try cache.value(String.self, forKey: "key") == "later")
    child.end()
    try cache.close()
  }
}
