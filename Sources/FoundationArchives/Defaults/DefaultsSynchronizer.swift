package import Foundation
import Platform
import Synchronization

/// Writes defaults to their file soon after they were changed, so that the file survives what happens meanwhile.
///
/// Apple's systems do that by themselves. Foundation on Linux writes when `synchronize()` is called, and what was not
/// synchronized is lost with the process. It writes in place: see ``DefaultsFile``.
///
/// A program that calls `synchronize()` itself writes past the lock and the copy.
package final class DefaultsSynchronizer: Sendable {
  package static let shared = DefaultsSynchronizer()

  /// Changes within this time are written together.
  private static let delay = DispatchTimeInterval.milliseconds(100)
  /// What could not be written is tried again after this time.
  private static let pause = DispatchTimeInterval.seconds(1)
  /// So long another process may keep the lock of a file; nanoseconds.
  private static let lockTimeout: Int64 = 2_000_000_000

  private struct Change {
    let shared: SharedDefaults
    let onDamage: @Sendable (DefaultsDamage) -> Void
  }

  // Sendable: used with the lock `writing` held.
  private final class Lease: @unchecked Sendable {
    let locked: DefaultsFile.Locked

    init(_ locked: consuming DefaultsFile.Locked) { self.locked = locked }
  }

  private struct State {
    /// What is to be written.
    var dirty: [Change] = []
    /// What could not be written, and is tried again.
    var failed: [Change] = []
    var isRetryScheduled = false
    var files: [String?: DefaultsFile] = [:]
    /// What was found at the first use of each file, by its path.
    var openings: [String: DefaultsDamage?] = [:]
    /// The files that could not be written at the last attempt.
    var failing: Set<String> = []
    /// The files whose lock is kept until they are written next, by their paths: no other process has changed them since
    /// ``add(_:forKey:to:onDamage:besides:)`` read them.
    var kept: [String: Lease] = [:]

    mutating func note(_ change: Change) {
      if !dirty.contains(where: { $0.shared.defaults === change.shared.defaults }) { dirty.append(change) }
    }
  }

  // Both are recursive: a change posts a notification on some systems, whose observers may make another one. Of the two
  // the second is taken first; between them comes the lock of the file.
  private let changes = NSRecursiveLock()
  private let writing = NSRecursiveLock()
  private let state = Mutex(State())

  private init() {
    // Waits for a synchronization that has begun: it has taken its changes off the list.
    atexit { DefaultsSynchronizer.shared.synchronize() }
  }

  /// Runs what changes defaults while nothing is synchronized, so that no change falls between Foundation's reading of
  /// the file and its writing.
  package func changing<R>(_ body: () throws -> R) rethrows -> R {
    changes.lock()
    defer { changes.unlock() }
    return try body()
  }

  /// Notes that defaults were changed, for the next synchronization or the exit of the process.
  ///
  /// - Parameter onDamage: Called, on some thread, if the file could not be written, or was found damaged.
  package func noteChange(of defaults: UserDefaults, onDamage: @escaping @Sendable (DefaultsDamage) -> Void) {
    #if !canImport(Darwin)
      let change = Change(shared: SharedDefaults(defaults: defaults), onDamage: onDamage)
      let isFirst = state.withLock { state in
        defer { state.note(change) }
        return state.dirty.isEmpty
      }
      if isFirst { schedule(after: Self.delay) }
    #endif
  }

  /// Makes sure, before the first use of defaults, that they were read from a whole file.
  ///
  /// - Returns: What was wrong with the file. What was lost is told each time, everything else once.
  package func open(_ defaults: UserDefaults) -> DefaultsDamage? {
    #if canImport(Darwin)
      return nil
    #else
      guard let file = file(of: defaults) else { return nil }
      func known() -> DefaultsDamage?? { state.withLock { $0.openings[file.path] } }
      if let known = known() { return known?.kind == .lost ? known : nil }
      writing.lock()
      defer { writing.unlock() }
      if let known = known() { return known?.kind == .lost ? known : nil }
      let damage = examine(defaults, file)
      state.withLock { $0.openings[file.path] = .some(damage) }
      return damage
    #endif
  }

  /// Sets an object unless there is one, in one step for all threads and for all processes that use this function.
  ///
  /// - Parameters:
  ///   - onDamage: as for ``noteChange(of:onDamage:)``.
  ///   - besides: What is changed in the same step if it is set.
  /// - Returns: Whether it was set.
  package func add(
    _ object: Any, forKey key: String, to defaults: UserDefaults,
    onDamage: @escaping @Sendable (DefaultsDamage) -> Void, besides: () -> Void = {}
  ) -> Bool {
    var isAdded = false
    var damage: DefaultsDamage?
    #if !canImport(Darwin)
      if let file = file(of: defaults) {
        writing.lock()
        do throws(DefaultsDamage) {
          if state.withLock({ $0.kept[file.path] }) == nil {
            let lease = try lease(on: file)
            // Reads what other processes have written.
            damage = try write(defaults, lease.locked)
            state.withLock { $0.kept[file.path] = lease }
          }
          // Many that follow each other are written together, and others wait for the lock until they are.
          isAdded = addHere(object, key, defaults, besides)
          noteChange(of: defaults, onDamage: onDamage)
          writing.unlock()
          if let damage { onDamage(damage) }
          return isAdded
        } catch {
          damage = error
          writing.unlock()
        }
      }
    #endif
    // Other processes cannot be asked.
    if !isAdded { isAdded = addHere(object, key, defaults, besides) }
    if isAdded { noteChange(of: defaults, onDamage: onDamage) }
    if let damage { onDamage(damage) }
    return isAdded
  }

  private func addHere(_ object: Any, _ key: String, _ defaults: UserDefaults, _ besides: () -> Void) -> Bool {
    changing {
      if defaults.object(forKey: key) != nil { return false }
      defaults.set(object, forKey: key)
      besides()
      return true
    }
  }

  // MARK: Files

  private func file(of defaults: UserDefaults) -> DefaultsFile? {
    guard let suite = DefaultsFile.suite(of: defaults) else { return nil }
    if let known = state.withLock({ $0.files[suite] }) { return known }
    let file = DefaultsFile(suite: suite)
    return state.withLock { state in
      state.files[suite] = state.files[suite] ?? file
      return state.files[suite]
    }
  }

  private func examine(_ defaults: UserDefaults, _ file: DefaultsFile) -> DefaultsDamage? {
    do throws(DefaultsDamage) {
      if try isSoundWithoutCopy(file) {
        // Foundation reads the file at the first question, and another process may have begun to write it meanwhile.
        _ = defaults.object(forKey: "")
        if try isSoundWithoutCopy(file) { return nil }
      }
      let lease = try lease(on: file)
      let damage = try write(defaults, lease.locked)
      lease.locked.removeUnneededCopy()
      return damage
    } catch {
      return error
    }
  }

  /// Nobody writes, by this package, a file that has no copy.
  private func isSoundWithoutCopy(_ file: DefaultsFile) throws(DefaultsDamage) -> Bool {
    do throws(SystemError) {
      if try file.hasCopy { return false }
      if case .damaged = try file.contents() { return false }
      return true
    } catch {
      throw .unwritten(file.path, "it cannot be read (\(error))")
    }
  }

  // MARK: Writing

  private func schedule(after delay: DispatchTimeInterval) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { self.synchronize() }
  }

  /// Writes what was changed before it began.
  private func synchronize() {
    var reports: [(Change, DefaultsDamage)] = []
    writing.lock()
    state.withLock { state in
      for change in state.failed { state.note(change) }
      state.failed = []
    }
    var count = state.withLock { $0.dirty.count }
    while count > 0, let change = state.withLock({ $0.dirty.isEmpty ? nil : $0.dirty.removeFirst() }) {
      count -= 1
      let (damage, isWritten) = write(change)
      if !isWritten { state.withLock { $0.failed.append(change) } }
      if let damage { reports.append((change, damage)) }
    }
    let (isDirty, hasFailed) = state.withLock { state in
      let hasFailed = !state.failed.isEmpty && !state.isRetryScheduled
      if hasFailed { state.isRetryScheduled = true }
      return (!state.dirty.isEmpty, hasFailed)
    }
    writing.unlock()
    if isDirty { schedule(after: Self.delay) }
    if hasFailed {
      DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.pause) {
        self.state.withLock { $0.isRetryScheduled = false }
        self.synchronize()
      }
    }
    // They may run any code: wait for other threads, or exit.
    for (change, damage) in reports { change.onDamage(damage) }
  }

  /// The file's lock: the one that was kept, or a new one.
  private func lease(on file: DefaultsFile) throws(DefaultsDamage) -> Lease {
    if let kept = state.withLock({ $0.kept.removeValue(forKey: file.path) }) { return kept }
    return Lease(try file.lock(within: Self.lockTimeout))
  }

  /// What is to be told, and whether the change is in the file.
  private func write(_ change: Change) -> (DefaultsDamage?, Bool) {
    let defaults = change.shared.defaults
    guard let file = file(of: defaults) else {
      return changing { defaults.synchronize() }
        ? (nil, true) : (.unwritten("The file of the user defaults", "Foundation could not write it"), true)
    }
    do throws(DefaultsDamage) {
      let lease = try lease(on: file)
      let damage = try write(defaults, lease.locked)
      lease.locked.removeUnneededCopy()
      _ = state.withLock { $0.failing.remove(file.path) }
      return (damage, true)
    } catch {
      // Told once, not with every attempt.
      let isNew = state.withLock { $0.failing.insert(file.path).inserted }
      return (isNew ? error : nil, false)
    }
  }

  /// Lets Foundation write what was changed, if anything was, and read the file again.
  private func write(
    _ defaults: UserDefaults, _ locked: borrowing DefaultsFile.Locked
  ) throws(DefaultsDamage) -> DefaultsDamage? {
    let damage = try locked.repair()
    try locked.saveCopy()
    if changing({ defaults.synchronize() }) {
      // Foundation reads the file at the next question; now it is whole.
      _ = defaults.object(forKey: "")
      return damage
    }
    // It may have truncated the file.
    _ = try locked.repair()
    throw .unwritten(locked.file.path, "Foundation could not write it")
  }
}
