import Foundation
import LMDBCaching
import TestSupport

/// A seed, which gives the configuration, and the steps. What fails is made shorter, and printed so that it can be pinned.
package struct ModelHistory: Sendable {
  package let seed: UInt64
  var steps: [ModelStep]

  init(seed: UInt64, steps: [ModelStep]) { (self.seed, self.steps) = (seed, steps) }

  package init(seed: UInt64, count: Int) {
    var generator = ModelGenerator(ModelConfiguration(seed: seed))
    self.init(seed: seed, steps: generator.steps(count))
  }

  /// How often each step occurs.
  package var counts: [String: Int] { steps.reduce(into: [:]) { $0[$1.name, default: 0] += 1 } }

  /// Runs it, and returns a description of the shortest history found that fails too.
  ///
  /// - Parameters:
  ///   - program: Starts ``ModelChild/serve(_:)`` in another process.
  ///   - parent: A directory for the caches.
  package func failure(
    startingChildrenBy program: String, _ arguments: [String], in parent: String
  ) throws -> String? {
    let folder = ModelFolder(parent: parent, program: (program, arguments))
    guard let first = folder.mismatch(self) else { return nil }
    let shortest = shortened(in: folder)
    let found = folder.mismatch(shortest) ?? first
    let steps = shortest.steps.map { "    .\($0),\n" }.joined()
    let text = """
      seed \(seed), \(self.steps.count) steps, step \(first.step): \(first.description)
      Shortest found: step \(found.step): \(found.description)
      ModelHistory(
        seed: \(seed),
        steps: [
      \(steps)  ]),
      """
    return Self.plain(text)
  }

  /// Its source text.
  private static func plain(_ text: String) -> String {
    var text = text.replacing(/CacheModel\.[A-Z]\w+(\.[A-Z]\w+)*\./, with: ".").replacing("CacheModel.", with: "")
    for (name, texts) in [("all", ModelKeys.all), ("prefixes", ModelKeys.prefixes)] {
      for (index, key) in texts.enumerated() where key.count > 20 {
        text = text.replacing("\"\(key)\"", with: "ModelKeys.\(name)[\(index)]")
      }
    }
    return text
  }

  /// Removes halves, quarters and so on down to single steps while it still fails.
  private func shortened(in folder: ModelFolder) -> ModelHistory {
    let deadline = ContinuousClock.now + .seconds(60)
    var history = self
    if let mismatch = folder.mismatch(history) { history.steps = Array(history.steps.prefix(mismatch.step + 1)) }
    var length = history.steps.count / 2
    while length > 0 {
      var (start, isShorter) = (0, false)
      while start < history.steps.count, ContinuousClock.now < deadline {
        var shorter = history
        shorter.steps.removeSubrange(start..<min(start + length, history.steps.count))
        if let mismatch = folder.mismatch(shorter) {
          shorter.steps = Array(shorter.steps.prefix(mismatch.step + 1))
          (history, isShorter) = (shorter, true)
        } else {
          start += length
        }
      }
      if !isShorter || length > 1 { length /= 2 }
    }
    return history
  }
}

/// Runs histories, each in a separate folder.
private final class ModelFolder {
  private let parent: String
  private let program: ModelRun.Program
  private var runs = 0

  init(parent: String, program: ModelRun.Program) {
    self.parent = parent
    self.program = program
  }

  /// The first step that fails; the number of steps for the end.
  func mismatch(_ history: ModelHistory) -> (step: Int, description: String)? {
    runs += 1
    let path = "\(parent)/\(history.seed).\(runs)"
    var step = 0
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: path) }
      let run = try ModelRun(ModelConfiguration(seed: history.seed), program, in: path)
      for next in history.steps {
        try run.step(next)
        step += 1
      }
      try run.end()
      return nil
    } catch {
      return (step, "\(error)")
    }
  }
}

/// The other process: it performs operations that it reads from its input.
package final class ModelChild {
  private struct Request: Codable {
    var operation: ModelOperation
    var now: Int64
    var monotonic: Int64
  }

  let process: ChildProcess

  init(_ program: ModelRun.Program, _ directory: String, _ seed: UInt64, _ moment: ModelState.Time) throws {
    let arguments = [directory, "\(seed)", "\(moment.now)", "\(moment.monotonic)"]
    process = try ChildProcess(program.name, program.arguments + arguments)
    if try answer() != "open" { throw ModelMismatch("the other process does not open the cache") }
  }

  func send(_ operation: ModelOperation, _ moment: ModelState.Time) {
    let request = Request(operation: operation, now: moment.now, monotonic: moment.monotonic)
    process.send(String(decoding: try! JSONEncoder().encode(request), as: UTF8.self))
  }

  func answer() throws -> String {
    guard let answer = process.readLine() else { throw ModelMismatch("the other process has ended") }
    return answer
  }

  func answer(to operation: ModelOperation, _ moment: ModelState.Time) throws -> String {
    send(operation, moment)
    return try answer()
  }

  /// The body of the other process, with the arguments after those of its program.
  package static func serve(_ arguments: [String]) throws {
    let (monotonic, seed) = (Int64(arguments[3])!, UInt64(arguments[1])!)
    let clock = ManualClock(now: Int64(arguments[2])! - monotonic)
    clock.advance(by: .nanoseconds(monotonic))
    let configuration = ModelConfiguration(seed: seed)
    let time = CacheClock.manual(clock)
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: arguments[0]), configuration: configuration.make(time))
    let performer = ModelPerformer(cache, time, configuration)
    func answer(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    answer("open")
    while let line = readLine() {
      let request = try JSONDecoder().decode(Request.self, from: Data(line.utf8))
      clock.advance(by: .nanoseconds(max(0, request.monotonic - clock.monotonic)))
      clock.set(request.now)
      answer(performer.answer(to: request.operation))
    }
    try cache.close()
  }
}
