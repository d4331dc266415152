import Foundation
import LMDBCaching
import Platform
import TestSupport

struct ModelMismatch: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// A cache and the oracle, side by side. Every step throws if they differ.
final class ModelRun {
  /// The words to start the other process with.
  typealias Program = (name: String, arguments: [String])

  private let configuration: ModelConfiguration
  private let program: Program
  private let clock = ManualClock()
  /// The clock of expiry and use, which does not follow the wall clock back. The caches and the oracle share it. Each
  /// reopening makes a new one, as a new process does.
  private var time: CacheClock
  /// The parent of the directories: after a crash, the run moves on to a copy.
  private let parent: String
  /// The latest time of an earlier opening.
  private var latest = Int64.min
  private var directories = 0
  /// Whether openings verify the files.
  private var isEnding = false
  private var performers: [ModelActor: ModelPerformer] = [:]
  private var child: ModelChild?
  /// The states that the answers so far allow: one, except after an operation that failed or was killed, or a race.
  private var states: [ModelState]
  private var observer: ModelObserver?

  init(_ configuration: ModelConfiguration, _ program: Program, in parent: String) throws {
    self.configuration = configuration
    self.program = program
    self.parent = URL(fileURLWithPath: parent).resolvingSymlinksInPath().path
    time = .manual(clock)
    states = [ModelState(isTransforming: !configuration.transforms.isEmpty)]
    try open()
  }

  private var directory: String { "\(parent)/\(directories)" }
  private var cache: LMDBCache { performers[.cache]!.cache }
  private var moment: ModelState.Time { ModelState.Time(now: time.now, monotonic: clock.monotonic) }

  // MARK: Life cycle

  private func open() throws {
    try add(.cache)
    try add(.disk)
    try findExpired()
    observer = try ModelObserver(cache)
  }

  /// Entries that expired by an earlier process's clock may be gone, or live again by this one's.
  private func findExpired() throws {
    let now = time.now
    let names = states[0].entries.filter { $0.value.isExpired(latest) && !$0.value.isExpired(now) }.keys
    latest = now
    if names.isEmpty { return }
    for name in names {
      states += states.map { state in
        var state = state
        state.entries[name] = nil
        return state
      }
      try perform(.presence(name.string), by: .disk)
    }
    states = [states[0]]
  }

  private func add(_ actor: ModelActor) throws {
    var configuration = self.configuration.make(time)
    if actor == .disk { configuration.memory = .off }
    if isEnding { configuration.disk.verification = .always }
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
    performers[actor] = ModelPerformer(cache, time, self.configuration)
    if let recovery = cache.recovery { throw ModelMismatch("an opening found damage: \(recovery)") }
    for index in states.indices { states[index].pauses[actor] = nil }
  }

  private func close() throws {
    for performer in performers.values { try performer.cache.close() }
    performers = [:]
    latest = max(latest, time.now)
    time = .manual(clock)
  }

  func end() throws {
    try endChild()
    isEnding = true
    for actor in [ModelActor.cache, .disk] {
      try perform(.count, by: actor)
      try readAll(by: actor)
    }
    for step in [ModelStep.reopen, .crash] {
      try self.step(step)
      try perform(.list(""), by: .cache)
      try readAll(by: .disk)
      try perform(.sweep, by: .cache)
      let faults = try cache.valueLogFaults()
      if !faults.isEmpty { throw ModelMismatch("\(faults)") }
    }
    try close()
  }

  private func readAll(by actor: ModelActor) throws {
    for key in ModelKeys.all {
      let kind = states[0].entries[ModelKey(key)]?.value?.kind ?? .number
      for _ in 0..<2 { try perform(.get(key, kind), by: actor) }
    }
  }

  /// Continues on a copy of the files before a commit, as after the death of the process.
  private func crash() throws {
    try endChild()
    let source = directory
    directories += 1
    let copy = directory
    try cache.betweenCommits {
      Result {
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: source) where name != "lock.mdb" {
          try FileManager.default.copyItem(atPath: source + "/" + name, toPath: copy + "/" + name)
        }
      }
    }.get()
    let isLater = time.now == clock.now
    try close()
    try FileManager.default.removeItem(atPath: source)
    // A reader's view of the journal before the replay.
    if isLater {
      let answer = try ModelPerformer.look(directory, [], time, configuration)
      try accept(.look([]), answer, by: .disk, at: moment)
    }
    try open()
  }

  // MARK: Steps

  func step(_ step: ModelStep) throws {
    switch step {
    case .perform(let operation, let actor): try perform(operation, by: present(actor))
    case .race(let first, let one, let second, let other): try race(first, one, second, present(other))
    case .failing(let fault, let operation): try fail(fault, operation)
    case .failingOpening(let fault): try failOpening(fault)
    case .advance(let milliseconds): try advance(.milliseconds(milliseconds))
    case .setClock(let milliseconds): try moveClock { clock.set(clock.now + Int64(milliseconds) * 1_000_000) }
    case .reopen:
      try close()
      try open()
    case .crash: try crash()
    case .toggleOther:
      if let other = performers.removeValue(forKey: .other) { try other.cache.close() } else { try add(.other) }
    case .startChild: try startChild()
    case .endChild: try endChild()
    case .killChild(let operations, let count, let meanwhile):
      try killChild(operations, afterAnswers: count, meanwhile)
    case .observe: try observe()
    }
    try resolve()
    try keepLimits(isExact: step.isSingleSet)
    try observer?.compare(states[0], time.now)
    for performer in performers.values { performer.cache._checkInvariants() }
  }

  private func present(_ actor: ModelActor) -> ModelActor {
    switch actor {
    case .other where performers[.other] == nil, .child where child == nil: .cache
    default: actor
    }
  }

  private func perform(_ operation: ModelOperation, by actor: ModelActor) throws {
    if case .trim(let trim) = operation { return try self.trim(trim, by: actor == .child ? .cache : actor) }
    // It first removes entries that are too old.
    if operation == .count, configuration.isLimited { try self.trim(.limits, by: .cache) }
    guard actor == .child, let child else {
      if case .update(_, _, _, _, let meanwhile?) = operation { return try update(operation, meanwhile, by: actor) }
      let moment = moment
      return try accept(operation, performers[actor]!.answer(to: operation), by: actor, at: moment)
    }
    // Each process commits before the other's turn.
    try handOver()
    let moment = moment
    let answer = try child.answer(to: operation, moment)
    observer?.isBehind = true
    try accept(operation, answer, by: .child, at: moment)
    _ = try child.answer(to: .commit, moment)
    try advance(.microseconds(100))
  }

  /// An update, while another thread or process makes a change.
  private func update(_ operation: ModelOperation, _ meanwhile: ModelOperation, by actor: ModelActor) throws {
    if child != nil { try handOver() }
    // Times have the precision of a second.
    if clock.now % 1_000_000_000 > 990_000_000 { try advance(.milliseconds(20)) }
    let moment = moment
    let performer = performers[actor]!
    nonisolated(unsafe) let other = performers[actor == .disk ? .cache : .disk]!
    var isMade = false
    performer.performMeanwhile = { [self] meanwhile in
      isMade = true
      guard let child else { return concurrently(1) { _ in _ = other.answer(to: meanwhile) } }
      // The clock orders the writes of processes.
      clock.advance(by: .microseconds(100))
      _ = try? child.answer(to: meanwhile, self.moment)
      _ = try? child.answer(to: .commit, self.moment)
      clock.advance(by: .microseconds(100))
    }
    let answer = performer.answer(to: operation)
    guard isMade else { return try accept(operation, answer, by: actor, at: moment) }
    observer?.isBehind = true
    let maker: ModelActor = child == nil ? .disk : .child
    try accept([(meanwhile, nil)], by: maker, at: moment, and: (operation, answer), by: actor, at: moment)
  }

  /// Keeps the states in which the operation gives this answer.
  private func accept(
    _ operation: ModelOperation, _ answer: String?, by actor: ModelActor, at moment: ModelState.Time
  ) throws {
    var accepted: [ModelState] = []
    var expected = ""
    for state in states {
      var state = state
      let words = state.perform(operation, by: actor, at: moment)
      let isKnown = !words.hasPrefix("?")
      if answer == nil || words == answer || !isKnown && answer!.hasSuffix(" bytes") {
        if !accepted.contains(state) { accepted.append(state) }
      } else {
        expected = words
      }
    }
    observer?.note(operation)
    guard accepted.isEmpty else { return states = accepted }
    throw ModelMismatch("\(operation) by \(actor):\n    \(answer ?? "no answer")\n  and not\n    \(expected)")
  }

  /// Reads the differences of the possible states, so that one remains.
  private func resolve() throws {
    if states.count == 1 { return }
    let keys = Set(states.flatMap(\.entries.keys)).filter { key in
      states.contains { $0.entries[key] != states[0].entries[key] }
    }
    for key in keys {
      let kinds = Set(states.compactMap { $0.entries[key]?.value?.kind })
      for actor in [ModelActor.disk, .cache] {
        try perform(.presence(key.string), by: actor)
        for kind in kinds { try perform(.get(key.string, kind), by: actor) }
      }
    }
    // Any difference that is left cannot be seen.
    states = [states[0]]
  }

  // MARK: Time

  private func advance(_ duration: Duration) throws { try moveClock { clock.advance(by: duration) } }

  private func moveClock(_ move: () -> Void) throws {
    let before = time.now
    move()
    let now = time.now
    if now < before || now < clock.now { throw ModelMismatch("the time is \(now), after \(before)") }
    // The clock stores milliseconds; the oracle compares exactly.
    time.advance(toAtLeast: now)
  }

  // MARK: Limits

  private func keepLimits(isExact: Bool) throws {
    let state = states[0]
    guard configuration.isLimited,
      state.entries.count > ModelConfiguration.countLimit || state.cost > ModelConfiguration.costLimit
    else { return }
    try trim(.limits, by: .cache, isExact: isExact)
  }

  /// A trim chooses by uses that are known to the minute. It keeps the limits, and takes nothing without need.
  private func trim(_ trim: ModelTrim, by actor: ModelActor, isExact: Bool = true) throws {
    var trim = trim
    let now = time.now
    var entries = states[0].entries.filter { !$0.value.isOver(now) }
    // Those that only loads see are not listed.
    if entries.values.contains(where: { $0.isExpired(now) }) { trim = .limits }
    let isUnlimited = trim == .limits && !configuration.isLimited
    let answer = performers[actor]!.answer(to: .trim(trim))
    let numbers = answer.split(separator: " ").map { Int($0) ?? -1 }
    guard numbers.allSatisfy(ModelKeys.all.indices.contains) else { throw ModelMismatch("\(trim): \(answer)") }
    let kept = Set(numbers.map { ModelKey(ModelKeys.all[$0]) })
    let live = entries.filter { !$0.value.isExpired(now) }
    func fail(_ finding: String) -> ModelMismatch { ModelMismatch("\(trim): \(kept) of \(live.keys): \(finding)") }
    guard kept.isSubset(of: live.keys) else { throw fail("a missing value came back") }
    if isUnlimited {
      guard kept.count == live.count else { throw fail("an entry went without a limit") }
      states[0].entries = entries
      return
    }
    let (count, cost, age): (Int, Int, Int?) =
      switch trim {
      case .limits: (ModelConfiguration.countLimit, ModelConfiguration.costLimit, ModelConfiguration.ageLimit)
      case .count(let count): (count, .max, nil)
      case .cost(let cost): (.max, cost, nil)
      case .age(let age): (.max, .max, age)
      }
    let keptCost = kept.reduce(0) { $0 + live[$1]!.cost }
    if kept.count > count { throw fail("over the limit of entries") }
    if keptCost > cost { throw fail("over the limit of costs") }
    let isOverCount = live.count > count
    let isOverCost = live.values.reduce(0) { $0 + $1.cost } > cost
    let limit = age.map { Int64($0) * 1_000_000_000 }
    for (key, entry) in live {
      if let limit, kept.contains(key), now - entry.used > limit + 1_000_000_000 { throw fail("\(key) is too old") }
      let isOld = limit.map { now - entry.written > $0 - 1_000_000_000 } ?? false
      if !kept.contains(key), !isOverCount, !isOverCost, !isOld { throw fail("\(key) went without need") }
      if !kept.contains(key), isOverCount, !isOverCost, limit == nil || !isOld, isExact, kept.count != count {
        throw fail("more went than the limit asks for")
      }
    }
    entries = entries.filter { kept.contains($0.key) }
    states[0].entries = entries
  }

  // MARK: Changes

  private func observe() throws {
    // Removals by tag are reported when the entries leave the database.
    if child != nil { try handOver() }
    try perform(.sweep, by: .cache)
    var step = Duration.milliseconds(60)
    // A poll during which the clock jumps is followed by a pause of ten jumps, which take up to five minutes each.
    for _ in 0..<2_000 {
      try observer?.take()
      if observer?.difference(states[0], time.now) == nil { break }
      try advance(step)
      step = min(step * 2, .seconds(2))
      // Behind the writer's work from the clock's timer.
      try cache.betweenCommits {}
    }
    observer?.isBehind = false
  }

  // MARK: Races

  private func race(_ first: ModelOperation, _ one: ModelActor, _ second: ModelOperation, _ other: ModelActor) throws {
    if other == one || other == .child && child == nil { return }
    if other == .child { try handOver() }
    let moment = moment
    var answers: (String, String) = ("", "")
    if other == .child, let child {
      child.send(second, moment)
      answers.0 = performers[one]!.answer(to: first)
      answers.1 = try child.answer()
      _ = performers[one]!.answer(to: .commit)
      _ = try child.answer(to: .commit, moment)
      try advance(.microseconds(100))
    } else {
      let group = DispatchGroup()
      nonisolated(unsafe) let performer = performers[other]!
      let answer = Guarded("")
      inBackground(group) { answer { $0 = performer.answer(to: second) } }
      answers.0 = performers[one]!.answer(to: first)
      group.wait()
      answers.1 = answer.current
    }
    do {
      try accept([(second, answers.1)], by: other, at: moment, and: (first, answers.0), by: one, at: moment)
    } catch {
      throw ModelMismatch("\(first) and \(second) at once: \(answers), in no order. \(error)")
    }
    observer?.isBehind = true
  }

  // MARK: Failures

  private func fail(_ fault: ModelFault, _ operation: ModelOperation) throws {
    let moment = moment
    let session = begin(fault)
    let answer = performers[.cache]!.answer(to: operation)
    let flushed = performers[.cache]!.answer(to: .flush)
    FaultInjection.end(session)
    let recovers = try eventually(within: .seconds(120)) {
      if performers[.cache]!.answer(to: .flush) == "done", cache.health.isHealthy { return true }
      try advance(.seconds(5))
      return false
    }
    guard recovers else { throw ModelMismatch("\(fault) in \(operation): no commit afterwards; \(cache.health)") }
    guard answer.hasPrefix("error ") else { return try accept(operation, answer, by: .cache, at: moment) }
    let errors = ["noSpace", "storageFailed", "notCommitted", "permissionDenied", "lockTimeout"]
    guard errors.contains(String(answer.dropFirst(6))) else {
      throw ModelMismatch("\(fault) in \(operation): \(answer), then \(flushed)")
    }
    // Anything but `notCommitted` means that nothing has changed.
    if answer == "error notCommitted", operation.isWrite { try accept(operation, nil, by: .cache, at: moment) }
  }

  private func failOpening(_ fault: ModelFault) throws {
    try close()
    let session = begin(fault)
    let failure = Result { try open() }
    FaultInjection.end(session)
    guard case .failure(let error) = failure else { return }
    if !(error is CacheError) { throw error }
    try close()
    try open()
  }

  private func begin(_ fault: ModelFault) -> FaultInjection.SessionID {
    FaultInjection.begin(
      .directory(directory),
      [
        FaultInjection.Rule(
          FaultInjection.Call(rawValue: fault.call), returns: fault.status, first: fault.first, count: fault.count)
      ])
  }

  // MARK: Another process

  private func handOver() throws {
    let answer = performers[.cache]!.answer(to: .commit)
    if answer != "done" { throw ModelMismatch("a commit before another process's turn: \(answer)") }
    try advance(.microseconds(100))
  }

  /// Keeps the states of every order in which this process's operation comes among those of the other.
  private func accept(
    _ others: [(ModelOperation, String?)], by other: ModelActor, at moment: ModelState.Time,
    and own: (ModelOperation, String), by actor: ModelActor, at ownMoment: ModelState.Time
  ) throws {
    let before = states
    var after: [ModelState] = []
    var failure: (any Error)?
    for place in 0...others.count {
      states = before
      do {
        for (index, (operation, answer)) in others.enumerated() {
          if index == place { try accept(own.0, own.1, by: actor, at: ownMoment) }
          try accept(operation, answer, by: other, at: moment)
        }
        if place == others.count { try accept(own.0, own.1, by: actor, at: ownMoment) }
        after += states.filter { !after.contains($0) }
      } catch { failure = error }
    }
    if after.isEmpty, let failure { throw failure }
    states = after
  }

  private func startChild() throws {
    if child != nil { return }
    try handOver()
    child = try ModelChild(program, directory, configuration.seed, moment)
    for index in states.indices { states[index].pauses[.child] = nil }
    try advance(.microseconds(100))
  }

  private func endChild() throws {
    guard let child else { return }
    self.child = nil
    if child.process.end() != .exit(0) { throw ModelMismatch("the other process ended with an error") }
  }

  private func killChild(
    _ operations: [ModelOperation], afterAnswers count: Int, _ meanwhile: ModelOperation?
  ) throws {
    guard let child else { return }
    try handOver()
    let moment = moment
    for operation in operations { child.send(operation, moment) }
    var answers: [String] = []
    let awaited = meanwhile == nil ? min(count, operations.count) : operations.count
    for _ in 0..<awaited { answers.append(try child.answer()) }
    if let meanwhile {
      try advance(.microseconds(100))
      let answer = performers[.cache]!.answer(to: meanwhile)
      try accept(
        Array(zip(operations, answers)), by: .child, at: moment, and: (meanwhile, answer), by: .cache, at: self.moment)
      _ = performers[.cache]!.answer(to: .commit)
    }
    child.process.kill()
    answers += child.process.readRemaining()
    self.child = nil
    if meanwhile == nil {
      for (operation, answer) in zip(operations, answers) { try accept(operation, answer, by: .child, at: moment) }
    }
    // The one after the last answer may have been made, and those after it if their answers were lost with it.
    var possible = states
    for operation in operations.dropFirst(answers.count) {
      try accept(operation, nil, by: .child, at: moment)
      possible += states.filter { !possible.contains($0) }
    }
    states = possible
    observer?.isBehind = true
    if operations.count % 2 == 0 {
      // Who opens the cache sees all at once.
      try close()
      try open()
      return
    }
    // The others take the journal over within a second or so.
    let journals = directory + "/journals"
    let isTaken = try eventually(within: .seconds(120)) {
      try advance(.milliseconds(1_100))
      try cache.betweenCommits {}
      return try FileManager.default.contentsOfDirectory(atPath: journals).count <= 1
    }
    if !isTaken { throw ModelMismatch("no process takes over the journal of a dead one") }
  }
}

extension ModelStep {
  fileprivate var isSingleSet: Bool {
    if case .perform(.set, _) = self { true } else { false }
  }
}

/// Which keys exist, as an observer of the changes knows.
final class ModelObserver {
  private let cache: LMDBCache
  private let changes: CacheChanges
  private var told: Set<ModelKey>
  /// Whether changes of another process or by tag may not be known yet.
  var isBehind = false
  /// The latest time so far: entries that expired by then may be reported as gone.
  private var latest = Int64.min

  init(_ cache: LMDBCache) throws {
    self.cache = cache
    changes = cache.changes()
    told = Set(try cache.entries().map { ModelKey($0.key) })
  }

  func note(_ operation: ModelOperation) {
    switch operation {
    case .removeAll(.tags): isBehind = true
    case .batch(let changes, _, _): for change in changes { note(change) }
    case .load(_, let load): if let meanwhile = load.meanwhile { note(meanwhile) }
    default: break
    }
  }

  func take() throws {
    for change in changes.taken() {
      switch change {
      case .set(let key): told.insert(ModelKey(key))
      case .removed(let key), .evicted(let key), .expired(let key): told.remove(ModelKey(key))
      case .removedAll(let prefix): told = told.filter { !$0.hasPrefix(prefix) }
      case .missed: told = Set(try cache.entries().map { ModelKey($0.key) })
      }
    }
  }

  func compare(_ state: ModelState, _ now: Int64) throws {
    try take()
    latest = max(latest, now)
    if isBehind { return }
    if let difference = difference(state, now) { throw ModelMismatch(difference) }
  }

  /// An expired entry is reported when it is removed; observers ignore absences.
  func difference(_ state: ModelState, _ now: Int64) -> String? {
    latest = max(latest, now)
    let entries = state.entries.filter { $0.value.value != nil }
    let missing = Set(entries.filter { !$0.value.isExpired(latest) }.keys).subtracting(told)
    let surplus = told.subtracting(state.entries.keys)
    if missing.isEmpty && surplus.isEmpty { return nil }
    return "the changes lack \(missing), and \(surplus) are too many"
  }
}
