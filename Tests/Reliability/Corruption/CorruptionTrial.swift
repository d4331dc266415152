import Foundation
import LMDBCaching
import TestSupport

/// Whatever happens to a cache's files, opening it never crashes and never reads a value that was not written.
///
/// Each round opens the cache after an unclean exit, after a visible change following a clean exit, or with
/// verification after a change that no date shows. In the long form every twentieth round makes such a change and
/// trusts the clean exit: nothing is promised there, and its outcomes show what verification is for.
enum CorruptionTrial: Trial {
  static let name = "corruption"
  static let summary =
    "the database, segments of values and journals are changed, zeroed, cut off, exchanged or put back: no crash, no wrong "
    + "value"
  static let defaultCount = 20_000

  enum Circumstance: String, CaseIterable { case unclean, changed, silent, trusted }

  private static func workDirectory(_ settings: TrialSettings) throws -> URL {
    let fast = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    guard FileManager.default.isWritableFile(atPath: fast.path) else {
      return URL(fileURLWithPath: settings.directory, isDirectory: true)
    }
    let url = fast.appendingPathComponent("soak-corruption-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  static func run(_ settings: TrialSettings) throws -> TrialReport {
    let work = try workDirectory(settings)
    defer { if work.path.hasPrefix("/dev/shm/") { try? FileManager.default.removeItem(at: work) } }
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    let foreign = work.appendingPathComponent("another")
    try CorruptionShape.valueLog.make(in: foreign, earlier: work.appendingPathComponent("another-earlier"))
    let models = try CorruptionShape.allCases.map { try CorruptionModel($0, in: work, foreign: foreign) }
    var reader: ChildProcess?
    for name in ["rounds", "crashes", "hangs", "wrong values", "recoveries", "errors", "missing", "earlier values"] {
      report.count(name, 0)
    }
    for round in 0..<settings.count {
      let model = models[round % models.count]
      let target = model.shape.targets.randomElement(using: &random)!
      // The clean-exit mark is never trusted for values and journals.
      let circumstance =
        settings.count >= 1_000 && round % 20 == 19 && target == .database
        ? Circumstance.trusted : [.unclean, .changed, .silent][round / models.count % 3]
      let directory = work.appendingPathComponent("round")
      let done = try model.damage(target, in: directory, circumstance, &random)
      let description = "round \(round), \(model.shape), \(circumstance): \(done.text)"
      if reader == nil { reader = try makeReader() }
      let timer = Watchdog(reader!, seconds: circumstance == .trusted ? 5 : 20)
      let answer = reader!.run(
        "\(circumstance == .silent ? "always" : "afterUncleanExit") \(model.shape.rawValue) \(directory.path)")
      let hung = timer.cancel()
      if circumstance == .trusted {
        if !countTrusted(answer, hung, &report) { reader = nil }
        continue
      }
      report.count("rounds")
      report.count(done.name)
      report.count(done.place)
      let words = answer?.split(separator: " ") ?? []
      if answer == nil {
        report.count(hung ? "hangs" : "crashes")
        report.fail("\(description): the process \(hung ? "hung" : "crashed")")
        reader = nil
      } else if words.first == "ok", words.count == 5 {
        let numbers = words.dropFirst().map { Int($0)! }
        report.count("recoveries", numbers[0])
        report.count("errors", numbers[1])
        report.count("missing", numbers[2])
        report.count("earlier values", numbers[3])
        // Without its newest meta page LMDB falls back by one transaction, as after a power cut, and a damaged journal
        // ends at the damage. Nothing else may bring back an older value.
        if numbers[3] > 0, done.place != CorruptionModel.metaPages, model.shape != .journal {
          report.count("wrong values")
          report.fail("\(description): \(numbers[3]) values that were replaced")
        }
      } else {
        report.count("wrong values")
        report.fail("\(description): \(answer!)")
      }
    }
    return report
  }

  private static func makeReader() throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    // The end of the output signals a crash, so no backtrace is needed.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    return try ChildProcess("soak", ["role", CorruptionRole.name], environment: environment)
  }

  private static func countTrusted(_ answer: String?, _ hung: Bool, _ report: inout TrialReport) -> Bool {
    report.count("not promised: rounds")
    guard let answer else {
      report.count(hung ? "not promised: hangs" : "not promised: crashes")
      return false
    }
    let numbers = answer.split(separator: " ").dropFirst().compactMap { Int($0) }
    if answer.hasPrefix("ok"), numbers.count == 4 {
      if numbers[3] > 0 { report.count("not promised: rounds with earlier values") }
    } else {
      report.count("not promised: rounds with wrong values")
    }
    return true
  }

  private final class Watchdog: @unchecked Sendable {
    // Sendable: the lock guards what both threads touch.
    private let lock = NSLock()
    private var state = (isDone: false, hasFired: false)

    init(_ process: ChildProcess, seconds: Int) {
      let identifier = process.identifier
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { [self] in
        lock.withLock {
          if state.isDone { return }
          state.hasFired = true
          kill(identifier, SIGKILL)
        }
      }
    }

    func cancel() -> Bool {
      lock.withLock {
        state.isDone = true
        return state.hasFired
      }
    }
  }
}
