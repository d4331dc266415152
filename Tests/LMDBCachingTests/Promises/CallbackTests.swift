import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Log handlers and deinitializers that use the cache calling them: on the caller's thread, on the writer thread and
/// during opening.
@Suite struct CallbackTests {
  let directory = CacheDirectory()

  /// Handlers open another cache next to it.
  private var path: String { directory.path + "/cache" }

  static let actions = ["count", "value", "set", "flush", "openOther", "openSame", "close"]

  /// Actions of a log handler while no cache is open yet.
  static let openings = ["openOther", "openSame"]

  /// Once the handler closes the cache, later calls are refused, and nothing else differs.
  private func unlessClosed(_ answer: String, _ action: String) -> ProcessScript.Answer {
    action == "close" ? .oneOf([answer, "error closed"]) : .text(answer)
  }

  private func damage() throws {
    let cache = try LMDBCache(
      directory: directory.url("cache"), configuration: CacheDirectory.configuration())
    for index in 0..<200 { try cache.set("v\(index)", forKey: "k\(index)") }
    try cache.close()
    var bytes = directory.contents("cache/data.mdb")
    for index in 8_192..<bytes.count { bytes[index] = 0x5A }
    try bytes.write(to: directory.url("cache/data.mdb"))
  }

  @Test(arguments: actions) func aLogOfARecovery(_ action: String) throws {
    try damage()
    let acted = Self.openings.contains(action) ? "acted" : "nobody asked"
    let failures = try ProcessScript([
      ("open \(path) log=\(action)", .ok), (acted == "acted" ? "acted" : "acted perhaps", .oneOf([acted, "acted"])),
      ("set key v", unlessClosed("ok", action)),
      ("get key", unlessClosed("v", action)), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  @Test(arguments: actions) func aLogOfAReplayWhileOpening(_ action: String) throws {
    let dead = try BoundedProcess.run(
      "CacheTestProcess", input: ["open \(path) interval=86400000", "set theirs v", "die"])
    #expect(dead.answers == ["ok", "ok"])
    let acted = Self.openings.contains(action) ? "acted" : "nobody asked"
    let failures = try ProcessScript([
      ("open \(path) log=\(action)", .ok), (acted == "acted" ? "acted" : "acted perhaps", .oneOf([acted, "acted"])),
      ("get theirs", action == "openSame" ? .oneOf(["v", "of the other"]) : unlessClosed("v", action)), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  /// Logged on the writer thread.
  @Test(arguments: actions) func aLogOfAReplayWhileOpen(_ action: String) throws {
    let (subject, peer) = (try cacheProcess(), try cacheProcess())
    #expect(subject.ask("open \(path) log=\(action)") == "ok")
    #expect(subject.ask("set key v") == "ok")
    #expect(subject.ask("flush") == "ok")
    #expect(peer.ask("open \(path) interval=86400000") == "ok")
    #expect(peer.ask("set peers w") == "ok")
    peer.kill()
    let seen = subject.ask("eventually peers w")
    #expect(seen == "w" || action == "close" && seen == "error closed", "\(seen)")
    let key = subject.ask("get key")
    #expect(key == "v" || action == "close" && key == "error closed", "\(key)")
    #expect(subject.ask("acted") == "acted")
    #expect(["ok", "error closed"].contains(subject.ask("flush")))
    #expect(subject.ask("close") == "ok")
  }

  /// Growing the map is logged during a commit.
  @Test(arguments: actions) func aLogOfACommit(_ action: String) throws {
    var steps: [(String, ProcessScript.Answer)] = [
      ("open \(path) map=1048576 threshold=1048576 log=\(action)", .ok), ("set key v", .ok),
    ]
    for index in 0..<30 { steps.append(("big k\(index) 100000", unlessClosed("ok", action))) }
    steps += [
      ("flush", unlessClosed("ok", action)), ("acted", .text("acted")), ("get key", unlessClosed("v", action)),
      ("isbig k29 100000", unlessClosed("ok", action)), ("close", .ok),
    ]
    let failures = try ProcessScript(steps).failures()
    #expect(failures == [])
  }

  #if os(Linux)
    @Test(arguments: actions) func aLogOfACommitThatFails(_ action: String) throws {
      let failed = ProcessScript.Answer.oneOf(["ok", "error notCommitted", "error noSpace", "error closed"])
      var steps: [(String, ProcessScript.Answer)] = [
        ("open \(path) log=\(action)", .ok), ("set key v", .ok), ("flush", .ok), ("filelimit 65536", .ok),
      ]
      for index in 0..<20 { steps.append(("big k\(index) 100000", failed)) }
      steps += [
        ("flush", failed), ("acted", .text("acted")), ("filelimit 1099511627776", .ok),
        ("settle", unlessClosed("ok", action)), ("get key", unlessClosed("v", action)), ("close", .anything),
      ]
      let failures = try ProcessScript(steps).failures()
      #expect(failures == [])
    }

    /// Maintenance has no caller to throw to.
    @Test(arguments: actions) func aLogOfATrimThatFails(_ action: String) throws {
      var steps: [(String, ProcessScript.Answer)] = [
        ("open \(path) wall=1700000000000000000 log=\(action)", .ok), ("set key v", .ok),
      ]
      for index in 0..<300 { steps.append(("setfor k\(index) v\(index) 1000000000", .ok)) }
      steps += [
        ("flush", .ok), ("filelimit 12288", .ok), ("maintain", unlessClosed("ok", action)), ("acted", .text("acted")),
        ("filelimit 1099511627776", .ok), ("set key w", unlessClosed("ok", action)), ("advance 60000000000", .ok),
        ("settle", unlessClosed("ok", action)), ("get key", unlessClosed("w", action)), ("close", .anything),
      ]
      let failures = try ProcessScript(steps).failures()
      #expect(failures == [])
    }
  #endif

  /// Logged on the writer thread, which reopens the files.
  @Test(arguments: actions) func aLogOfFilesThatAreGone(_ action: String) throws {
    let failures = try ProcessScript([
      ("open \(path) log=\(action)", .ok), ("set key v", .ok), ("flush", .ok), ("loseData", .ok),
      ("set key w", .ok), ("flush", unlessClosed("ok", action)), ("acted", .text("acted")),
      ("get key", unlessClosed("w", action)), ("set key x", unlessClosed("ok", action)), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  @Test(arguments: ["count", "value", "set", "flush", "openOther", "openSame"], [true, false])
  func aDeinitializerOfAValue(_ action: String, _ asynchronously: Bool) throws {
    let failures = try ProcessScript([
      ("open \(path) every=1000000", .ok), ("set key v", .ok), ("values \(asynchronously) \(action)", .ok),
      ("set key v", .ok), ("get key", .text("v")), ("flush", .ok), ("acted", .text("acted")), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  /// The writer thread releases an evicted value, and would wait for itself.
  @Test(arguments: ["set", "flush"]) func aDeinitializerThatWaitsForItsCommit(_ action: String) throws {
    let durability = Durability.full.rawValue
    let failures = try ProcessScript([
      ("open \(path) every=1000000 durability=\(durability)", .ok), ("set key v", .ok), ("values false \(action)", .ok),
      ("set key w", .ok), ("get key", .text("w")), ("flush", .ok), ("acted", .text("acted")), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }
}
