import LMDBCaching
import WriteLog

/// A writer's changes, and which of them may survive a power cut at any moment.
///
/// A moment is the number of log records before it.
struct PowerLossHistory {
  private struct Step {
    let number: Int
    let change: PowerLossChange
    let began: Int
    var ended: Int?
    /// Whether this and all earlier changes were committed when it ended.
    var isCommitted = false
    /// The contents after it, if nothing were ever trimmed.
    let state: [Int: Int]
  }

  enum Verdict {
    /// This many acknowledged writes are missing.
    case kept(missing: Int)
    case discarded
    case wrong(String)
  }

  private let durability: Durability
  private let base: [Int: Int]
  private var steps: [Step] = []
  private var opened: Int?
  private var synchronizations: [Int] = []
  private(set) var failure: String?

  /// - Parameters:
  ///   - base: The entries at the start.
  ///   - databases: The inode numbers of the database file at the start.
  init(_ records: [WriteLogRecord], durability: Durability, base: [Int: Int], databases: Set<UInt64>) {
    self.durability = durability
    self.base = base
    var (databases, state) = (databases, base)
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

  private mutating func note(_ mark: String, _ moment: Int, _ state: inout [Int: Int]) {
    let words = mark.split(separator: " ")
    switch words[0] {
    case "opened":
      opened = moment
      var found: [Int: Int] = [:]
      for word in words.dropFirst() {
        let pair = word.split(separator: "=")
        found[Int(pair[0])!] = Int(pair[1])!
      }
      if found != state { failure = "what the reader found before, the writer did not: \(found), \(state)" }
    case "begin":
      let change = PowerLossChange(words[2...])!
      let number = Int(words[1])!
      change.apply(number, to: &state)
      steps.append(Step(number: number, change: change, began: moment, state: state))
    case "end":
      steps[steps.count - 1].ended = moment
      steps[steps.count - 1].isCommitted = words[2] == "1"
    case "failed": failure = mark
    default: break
    }
  }

  var acknowledged: Int { steps.count { $0.ended != nil } }

  /// Whether a power cut at `moment` may leave `found`.
  func judge(_ found: [Int: Int], discarded: Int, at moment: Int) -> Verdict {
    let begun = steps.prefix { $0.began < moment }
    let ended = begun.count { $0.ended.map { $0 < moment } ?? false }
    if durability == .fast { return judgeFast(found, discarded, Array(begun), ended, moment) }
    if discarded > 0 { return .wrong("the cache was discarded") }
    let least = durability == .full ? ended : durable(Array(begun), at: moment)
    let trimmed = Set(
      begun.indices.compactMap { index -> Int? in
        if case .trim = begun[index].change { index } else { nil }
      })
    for count in stride(from: begun.count, through: least, by: -1)
    where equals(found, state(after: count), begun.prefix(count), trimmed) {
      return .kept(missing: max(0, ended - count))
    }
    for count in stride(from: least - 1, through: 0, by: -1)
    where equals(found, state(after: count), begun.prefix(count), trimmed) {
      return .wrong("it is as after \(count) changes, where \(least) had to be there and \(ended) had returned")
    }
    let wanted = state(after: least)
    let (missing, unwanted) = (wanted.filter { found[$0.key] != $0.value }, found.filter { wanted[$0.key] != $0.value })
    return .wrong(
      "it is as after no number of changes: beside \(least) of \(begun.count), missing \(missing.sorted { $0 < $1 }), "
        + "there \(unwanted.sorted { $0 < $1 })")
  }

  /// Changes in the last batch but one, or in older ones.
  private func durable(_ begun: [Step], at moment: Int) -> Int {
    let last = synchronizations.last { $0 < moment } ?? -1
    var least = 0
    for (index, step) in begun.enumerated() {
      guard let ended = step.ended, ended < moment else { continue }
      if step.change == .flush || step.isCommitted && ended < last { least = index + 1 }
    }
    return least
  }

  private func state(after count: Int) -> [Int: Int] { count == 0 ? base : steps[count - 1].state }

  /// Equal except for trimmed entries: a trim is not a write, and may or may not survive a power cut.
  private func equals(
    _ found: [Int: Int], _ state: [Int: Int], _ begun: ArraySlice<Step>, _ trimmed: Set<Int>
  ) -> Bool {
    if found == state { return true }
    guard let lastTrim = trimmed.max() else { return false }
    return found.allSatisfy { state[$0.key] == $0.value }
      && state.allSatisfy { key, number in
        found[key] == number || (base[key] == number || steps[lastTrim].number >= number)
      }
  }

  private func judgeFast(
    _ found: [Int: Int], _ discarded: Int, _ begun: [Step], _ ended: Int, _ moment: Int
  ) -> Verdict {
    // Between a close and the next opening, unsynchronized data may be lost.
    var isBetween = opened.map { moment <= $0 } ?? true
    if begun.count > ended, case .reopen? = begun.last?.change { isBetween = true }
    if discarded > 1 { return .wrong("it was discarded \(discarded) times") }
    if found.isEmpty && (discarded == 1 || isBetween) { return .discarded }
    guard isBetween, discarded == 0 else {
      return .wrong("it was \(discarded == 1 ? "said to be discarded and is not" : "believed"): \(found)")
    }
    let trimmed = Set(
      begun.indices.compactMap { index -> Int? in
        if case .trim = begun[index].change { index } else { nil }
      })
    return equals(found, state(after: begun.count), begun[...], trimmed)
      ? .kept(missing: 0) : .wrong("it was believed, and is not as it was closed")
  }
}
