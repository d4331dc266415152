package import Foundation
import Platform
import Synchronization

/// Writes changed defaults to their file soon, so that the file survives a crash.
///
/// Apple's systems do so themselves. Foundation on Linux writes only in `synchronize()`, in place (see
/// ``DefaultsFile``), and loses other changes with the process. A program that calls `synchronize()` itself bypasses
/// the lock and the copy.
package final class DefaultsSynchronizer: Sendable {
  package static let shared = DefaultsSynchronizer()

  /// Changes within this time are written together.
  private static let delay = DispatchTimeInterval.milliseconds(100)
  /// The delay before retrying a failed write.
  private static let pause = DispatchTimeInterval.seconds(1)
  /// How long to wait for another process's lock of a file, in nanoseconds.
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
    var dirty: [Change] = []
    /// Changes to retry after a failed write.
    var failed: [Change] = []
    var isRetryScheduled = false
    var files: [String?: DefaultsFile] = [:]
    /// The results of each file's first use, by path.
    var openings: [String: DefaultsDamage?] = [:]
    /// Files whose last write failed.
    var failing: Set<String> = []
    /// Locks kept until the file's next write, by path: no other process has changed the file since
    /// ``add(_:forKey:to:onDamage:besides:)`` read it.
    var kept: [String: Lease] = [:]

    mutating func note(_ change: Change) {
      if !dirty.contains(where: { $0.shared.defaults === change.shared.defaults }) { dirty.append(change) }
    }
  }

  // Both are recursive: on some systems a change notifies observers that may make another one. Lock order: `writing`,
  // the file's lock, `changes`.
  private let changes = NSRecursiveLock()
  private let writing = NSRecursiveLock()
  private let state = Mutex(State())

  private init() {
    // Waits for a running synchronization, which has taken its changes off the list.
    atexit { DefaultsSynchronizer.shared.synchronize() }
  }

  /// Changes defaults while no synchronization runs, so that no change falls between Foundation's read and write of the
  /// file.
  package func changing<R>(_ body: () throws -> R) rethrows -> R {
    changes.lock()
    defer { changes.unlock() }
    return try body()
  }

  /// Records a change of defaults for the next synchronization or the process's exit.
  ///
  /// - Parameter onDamage: Called on any thread if the file was damaged or could not be written.
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

  /// Ensures, before the first use of defaults, that they are read from an undamaged file.
  ///
  /// - Returns: The file's damage. Lost contents are reported each time, other damage once.
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

  /// Sets an object unless there is one, atomically for all threads and for all processes that use this function.
  ///
  /// - Parameters:
  ///   - onDamage: As for ``noteChange(of:onDamage:)``.
  ///   - besides: A change to make in the same step if the object is set.
  /// - Returns: Whether it was set.
  package func add(
    _ object: Any, forKey key: String, to defaults: UserDefaults,
    onDamage: @escaping @Sendable (DefaultsDamage) -> Void, besides: () -> Void = {}
  ) -> Bool {
    var isAdded = false
    var damage: DefaultsDamage?
    #if !canImport(Darwin)
      // A file that fails is consulted again once it was written.
      if let file = file(of: defaults), !state.withLock({ $0.failing.contains(file.path) }) {
        // Two processes that each keep a lock would wait for each other's.
        if state.withLock({ !$0.kept.isEmpty && $0.kept[file.path] == nil }) { synchronize() }
        writing.lock()
        do throws(DefaultsDamage) {
          if state.withLock({ $0.kept[file.path] }) == nil {
            let lease = try lease(on: file)
            // Reads other processes' changes.
            damage = try write(defaults, lease.locked)
            state.withLock { $0.kept[file.path] = lease }
          }
          // A sequence of changes is written together, while others wait for the lock.
          isAdded = addHere(object, key, defaults, besides)
          noteChange(of: defaults, onDamage: onDamage)
          writing.unlock()
          if let damage { onDamage(damage) }
          return isAdded
        } catch {
          if state.withLock({ $0.failing.insert(file.path).inserted }) { damage = error }
          writing.unlock()
        }
      }
    #endif
    // Other processes cannot be consulted.
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
        // Foundation reads the file on first access, and another process may have begun to write it.
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

  /// A file without a copy is not being written by this package.
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

  /// Writes all changes made before it began.
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
    // Handlers may run any code, including waiting for other threads or exiting.
    for (change, damage) in reports { change.onDamage(damage) }
  }

  private func lease(on file: DefaultsFile) throws(DefaultsDamage) -> Lease {
    if let kept = state.withLock({ $0.kept.removeValue(forKey: file.path) }) { return kept }
    return Lease(try file.lock(within: Self.lockTimeout))
  }

  /// Returns the damage to report, and whether the change is in the file.
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
      // Reported once, not for every attempt.
      let isNew = state.withLock { $0.failing.insert(file.path).inserted }
      return (isNew ? error : nil, false)
    }
  }

  /// Has Foundation write pending changes and reread the file.
  private func write(
    _ defaults: UserDefaults, _ locked: borrowing DefaultsFile.Locked
  ) throws(DefaultsDamage) -> DefaultsDamage? {
    let damage = try locked.repair()
    try locked.saveCopy()
    if changing({ defaults.synchronize() }) {
      // Foundation reads the file on next access; now it is whole.
      _ = defaults.object(forKey: "")
      return damage
    }
    // Foundation may have truncated the file.
    _ = try locked.repair()
    throw .unwritten(locked.file.path, "Foundation could not write it")
  }
}

// Sendable: UserDefaults is documented to be thread-safe.
package struct SharedDefaults: @unchecked Sendable {
  package let defaults: UserDefaults

  package init(defaults: UserDefaults) { self.defaults = defaults }
}

/// The object under a user defaults key at one moment, for comparisons.
// Sendable: objects from user defaults are never changed.
package struct StoredObject: @unchecked Sendable {
  package let object: Any?

  package init(_ defaults: UserDefaults, _ key: String) { object = defaults.object(forKey: key) }

  package func isSame(as other: StoredObject) -> Bool {
    switch (object, other.object) {
    case (nil, nil): true
    case (let object?, let other?): Self.areSame(object, other)
    default: false
    }
  }

  /// Whether two property list objects are equal. Objects that cannot be compared differ.
  private static func areSame(_ first: Any, _ second: Any) -> Bool {
    switch (first, second) {
    case (let first as [Any], let second as [Any]):
      first.count == second.count && zip(first, second).allSatisfy(areSame)
    case (let first as [String: Any], let second as [String: Any]):
      first.count == second.count
        && first.allSatisfy { name, value in second[name].map { areSame(value, $0) } ?? false }
    // NaN is not equal to itself but the same content.
    case (let first as AnyHashable, let second as AnyHashable):
      first == second || (first != first && second != second)
    default: false
    }
  }
}
