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

  /// What happens to a cache whose log handler acts.
  enum Occasion: CaseIterable {
    case recovery, replay, growingMap
    /// Logged on the writer thread, which reopens the files.
    case lostFiles
    #if os(Linux)
      case failedCommit
    #endif

    var isOpening: Bool { self == .recovery || self == .replay }
  }

  private typealias Steps = [(String, ProcessScript.Answer)]

  private func steps(_ occasion: Occasion, _ action: String) -> Steps {
    func maybe(_ answer: String) -> ProcessScript.Answer { unlessClosed(answer, action) }
    let acted = ("acted", ProcessScript.Answer.text("acted"))
    var steps: Steps = []
    switch occasion {
    case .recovery: steps = [("set key v", maybe("ok")), ("get key", maybe("v"))]
    case .replay: steps = [("get theirs", action == "openSame" ? .oneOf(["v", "of the other"]) : maybe("v"))]
    case .growingMap:
      steps = [("set key v", .ok)]
      for index in 0..<30 { steps.append(("big k\(index) 100000", maybe("ok"))) }
      steps += [("flush", maybe("ok")), acted, ("get key", maybe("v")), ("isbig k29 100000", maybe("ok"))]
    case .lostFiles:
      steps = [
        ("set key v", .ok), ("flush", .ok), ("loseData", .ok), ("set key w", .ok), ("flush", maybe("ok")), acted,
        ("get key", maybe("w")), ("set key x", maybe("ok")),
      ]
    #if os(Linux)
      case .failedCommit:
        let failed = ProcessScript.Answer.oneOf(["ok", "error notCommitted", "error noSpace", "error closed"])
        steps = [("set key v", .ok), ("flush", .ok), ("filelimit 65536", .ok)]
        for index in 0..<20 { steps.append(("big k\(index) 100000", failed)) }
        steps += [
          ("flush", failed), acted, ("filelimit 1099511627776", .ok), ("settle", maybe("ok")), ("get key", maybe("v")),
        ]
    #endif
    }
    return steps
  }

  /// While the cache opens, only another opening is possible.
  static let rows = Occasion.allCases.flatMap { occasion in
    (occasion.isOpening ? ["openOther", "openSame"] : actions).map { (occasion, $0) }
  }

  @Test(arguments: rows) func aLogHandlerMayUseTheCache(_ occasion: Occasion, _ action: String) throws {
    if occasion == .recovery { try damage() }
    if occasion == .replay {
      let dead = try BoundedProcess.run(
        "CacheTestProcess", input: ["open \(path) interval=86400000", "set theirs v", "die"])
      #expect(dead.answers == ["ok", "ok"])
    }
    var open = "open \(path) log=\(action)"
    if occasion == .growingMap { open += " map=1048576 threshold=1048576" }
    var close = ProcessScript.Answer.ok
    #if os(Linux)
      if occasion == .failedCommit { close = .anything }
    #endif
    var begin: Steps = [(open, .ok)]
    if occasion.isOpening { begin.append(("acted", .text("acted"))) }
    let failures = try ProcessScript(begin + steps(occasion, action) + [("close", close)]).failures()
    #expect(failures == [])
  }

  /// With `.full`, the writer thread releases an evicted value, and would wait for itself.
  @Test(arguments: ["count", "value", "set", "flush", "openOther", "openSame"], [Durability.ordered, .full])
  func aDeinitializerOfAValueMayUseTheCache(_ action: String, _ durability: Durability) throws {
    for asynchronously in durability == .full ? [false] : [true, false] {
      let failures = try ProcessScript([
        ("open \(path) every=1000000 durability=\(durability.rawValue)", .ok), ("set key v", .ok),
        ("values \(asynchronously) \(action)", .ok), ("set key w", .ok), ("get key", .text("w")), ("flush", .ok),
        ("acted", .text("acted")), ("close", .ok),
      ]).failures()
      #expect(failures == [])
    }
  }
}
