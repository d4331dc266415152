import LMDBCaching
import WriteLog

/// A writer's operations, and which of them may survive a power cut at any moment.
///
/// A moment is the number of log records before it.
struct PowerLossHistory {
  private struct Step {
    let operation: WriterOperation
    let began: Int
    var ended: Int?
    /// Whether this and all earlier changes were committed when it ended.
    var isCommitted = false
    /// The contents after it.
    let contents: [String: WrittenValue]
  }

  private let load: WriterLoad
  private let base: [String: WrittenValue]
  private var steps: [Step] = []
  private var opened: Int?
  private var synchronizations: [Int] = []
  private(set) var failure: String?

  /// - Parameters:
  ///   - base: The entries at the start.
  ///   - database: The inode number of the database file at the start.
  init(_ records: [WriteLogRecord], _ load: WriterLoad, base: [String: WrittenValue], database: UInt64?) {
    self.load = load
    self.base = base
    var (databases, state) = (Set([database]), WriterState(base))
    for (moment, record) in records.enumerated() {
      switch record.operation {
      case WRITE_LOG_CREATE where record.path.hasSuffix("/data.mdb"): databases.insert(record.file)
      case WRITE_LOG_SYNC where databases.contains(record.file): synchronizations.append(moment)
      case WRITE_LOG_SYNC_ALL: synchronizations.append(moment)
      case WRITE_LOG_MARK: note(record.path, moment, &state)
      default: break
      }
    }
  }

  private mutating func note(_ mark: String, _ moment: Int, _ state: inout WriterState) {
    let words = mark.split(separator: " ")
    switch words[0] {
    case "opened": opened = moment
    case "begin":
      let number = Int(words[1])!
      let operation = WriterOperation(number: number, load)
      operation.apply(to: &state, WrittenValue(writer: load.writer, number: number))
      steps.append(Step(operation: operation, began: moment, contents: state.contents))
    case "end":
      steps[steps.count - 1].ended = moment
      steps[steps.count - 1].isCommitted = words[2] == "1"
    default: failure = mark
    }
  }

  var acknowledged: Int { steps.count { $0.ended != nil } }

  enum Verdict {
    /// This many acknowledged writes are missing.
    case kept(missing: Int)
    case discarded
    case wrong(String)
  }

  /// Whether a power cut at `moment` may leave `found`.
  func judge(_ found: [String: WrittenValue], at moment: Int) -> Verdict {
    let begun = Array(steps.prefix { $0.began < moment })
    let ended = begun.count { $0.ended.map { $0 < moment } ?? false }
    var least = load.durability == Durability.full.rawValue ? ended : durable(begun, at: moment)
    if load.durability == Durability.fast.rawValue {
      // Between a close and the next opening, unsynchronized data may be lost.
      var isBetween = opened.map { moment <= $0 } ?? true
      if begun.count > ended, case .reopen? = begun.last?.operation { isBetween = true }
      if found.isEmpty { return .discarded }
      if !isBetween { return .wrong("it was believed: \(found)") }
      // It is as it was closed.
      least = begun.count
    }
    func contents(after count: Int) -> [String: WrittenValue] { count == 0 ? base : begun[count - 1].contents }
    // Operations that change no contents: the latest state counts.
    guard let count = (0...begun.count).last(where: { found == contents(after: $0) }) else {
      let wanted = contents(after: least)
      let differences = Set(wanted.keys).union(found.keys).filter { wanted[$0] != found[$0] }.sorted().map {
        "\($0) \(found[$0].map { "\($0.number)" } ?? "gone"), not \(wanted[$0].map { "\($0.number)" } ?? "gone")"
      }
      return .wrong("no number of changes leads to it: compared with \(least) of \(begun.count), \(differences)")
    }
    if count >= least { return .kept(missing: max(0, ended - count)) }
    return .wrong("it is as after \(count) changes, where \(least) had to be there and \(ended) had returned")
  }

  /// Changes in the last batch but one, or in older ones.
  private func durable(_ begun: [Step], at moment: Int) -> Int {
    let last = synchronizations.last { $0 < moment } ?? -1
    let index = begun.lastIndex { step in
      guard let ended = step.ended, ended < moment else { return false }
      if case .flush = step.operation { return true }
      return step.isCommitted && ended < last
    }
    return index.map { $0 + 1 } ?? 0
  }
}
