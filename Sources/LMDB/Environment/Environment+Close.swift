import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Balances one ``open(directory:options:)``. The last call closes the environment (`mdb_env_close`).
  ///
  /// New operations then throw `.closed`. Waits up to ten seconds for running ones; if they last longer (for example, a
  /// transaction of the calling thread), the files are closed once they end and the last reference to this object is
  /// released.
  ///
  /// Extra calls do nothing while no other opener has the environment open.
  public func close() {
    let isLast = Registry.withLock { _ in
      let isLast = openers == 1
      openers = max(0, openers - 1)
      if isLast { control.pointee.raise(.closed) }
      return isLast
    }
    guard isLast else { return }

    var backoff = Backoff(limit: Int64(clamping: options.waits.close))
    while !finish(), backoff.pause() {}
  }

  /// Makes every later operation throw `.corrupted`, because the file was found damaged. Running operations continue.
  /// The environment must still be closed.
  package func breakOff() { control.pointee.raise(.damaged) }

  /// Closes the files if they are unused. Returns whether there is nothing left to wait for.
  private func finish() -> Bool {
    guard writerMutex.tryLock() else { return false }
    defer { writerMutex.unlock() }
    guard isQuiet else { return false }
    let mayClose = Registry.withLock { registry -> Bool? in
      // Another thread may have reopened or closed it.
      guard openers == 0, !control.pointee.current.contains(.finished) else { return nil }
      // An operation may have begun while it was briefly reopened.
      guard isQuiet else { return false }
      registry.setBusy(control, true)
      return true
    }
    guard let mayClose else { return true }
    guard mayClose else { return false }
    endHandles()
    Registry.withLock { $0.remove(control) }
    return true
  }

  private var isQuiet: Bool { control.pointee.users.load(ordering: .sequentiallyConsistent) == 0 && slots.allFree }
}

extension Environment {
  /// Closes the C environment and opens it again while no transaction runs.
  ///
  /// Recovers from `.panic`: after a failed write of a meta page LMDB refuses everything, even once the disk works
  /// again. Committed data is kept. Waits up to a quarter of a second for running operations, and new ones wait
  /// meanwhile. Positions grow, because a transaction that failed at its end may have been visible briefly.
  ///
  /// - Throws: `.busy` if a snapshot or a write transaction did not end in time; nothing has changed then. The errors
  ///   of opening; then every operation throws `.panic` until a later call succeeds. `.corrupted` after ``breakOff()``.
  package func reopen() throws(LMDBError) {
    let operation = "Environment.reopen"
    let busy = LMDBError(
      code: .busy, operation: operation,
      message: "The environment failed fatally, and a transaction of it does not end. End it; it is tried again.")
    try whileAlone(within: options.waits.adoption, busy: busy, mends: true) { () throws(LMDBError) in
      guard let place else { throw LMDBError(code: .closed, operation: operation) }
      Registry.withLock { $0.setBusy(control, true) }
      defer { Registry.withLock { $0.setBusy(control, false) } }
      // Close before opening: closing a file drops every lock that the process has on it.
      closeHandle()
      isLost = true
      control.pointee.raise(.broken)
      try take(OpenFiles(place, options))
      control.pointee.generation.wrappingAdd(Control.nextGeneration, ordering: .releasing)
      control.pointee.lower(.broken)
    }
  }

  private func take(_ opened: OpenFiles) throws(LMDBError) {
    do throws(LMDBError) {
      guard opened.pageSize == control.pointee.metaPages.pageSize else {
        throw LMDBError(code: .fileReplaced, operation: "Environment.reopen")
      }
      try openDatabases(opened.handle)
      try control.pointee.metaPages.remap(descriptor: opened.descriptor)
    } catch {
      opened.close()
      throw error
    }
    handle = opened.handle
    isLost = false
    locks = opened.locks
    Registry.withLock { $0.update(control, opened.files) }
  }

  /// Opens the named databases in their original order, so that their handles stay the same.
  private func openDatabases(_ handle: EnvironmentHandle) throws(LMDBError) {
    if databases.isEmpty { return }
    let transaction = try handle.begin(flags: MDB_RDONLY)
    do throws(LMDBError) {
      for (name, database) in databases.sorted(by: { $0.value.handle < $1.value.handle }) {
        guard try transaction.openDatabase(name: name) == database else {
          throw LMDBError(code: .incompatible, operation: FaultInjection.Call.dbiOpen.rawValue)
        }
      }
    } catch {
      unsafe transaction.abort()
      throw error
    }
    // An abort would close the handles again.
    try unsafe transaction.commit()
  }
}

extension Environment {
  /// Which open files are no longer at their paths.
  package struct Displacement: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The data file's path leads to another file, or to none.
    package static let data = Displacement(rawValue: 1)
    package static let lockFile = Displacement(rawValue: 2)
  }

  package var files: EnvironmentFiles {
    guard let files = Registry.withLock({ $0.files(of: control) }) else {
      preconditionFailure("The environment was finished.")
    }
    return files
  }

  /// Compares the files at the paths with the open ones by `stat` only: opening and closing the lock file again would
  /// drop LMDB's locks on it.
  package func displacement() throws(LMDBError) -> Displacement {
    let files = files
    var displacement: Displacement = []
    if try identity(of: EnvironmentFiles.dataName) != files.data { displacement.insert(.data) }
    if try identity(of: EnvironmentFiles.lockName) != files.lockFile { displacement.insert(.lockFile) }
    return displacement
  }

  /// The file at a path, even when another directory now has that path.
  private func identity(of name: String) throws(LMDBError) -> FileIdentity? {
    try system { () throws(SystemError) in try Directory.identity(ofPath: directory + "/" + name) }
  }

  /// Replaces this environment's files with those of another environment, which ends as if closed.
  ///
  /// Used after files were deleted or replaced: the other environment has the current ones open. Waits up to a quarter
  /// of a second for running operations, and new ones wait meanwhile. Later reads see the new files at a greater
  /// position.
  ///
  /// - Throws: `.busy` if a snapshot or a write transaction did not end in time; nothing has changed then.
  package func adopt(_ other: Environment) throws(LMDBError) {
    if other === self { throw Self.busyAdoption }
    try whileAlone(within: options.waits.adoption, busy: Self.busyAdoption, mends: true) { () throws(LMDBError) in
      guard let own = Registry.withLock({ $0.files(of: control) }),
        let new = Registry.withLock({ $0.files(of: other.control) }), own.lockFile != new.lockFile,
        control.pointee.metaPages.pageSize == other.control.pointee.metaPages.pageSize
      else {
        throw LMDBError(
          code: .fileReplaced, operation: "Environment.adopt",
          message: "The files are not those of another environment of this kind. Close this one and open it again.")
      }
      let isAlone = Registry.withLock { registry in
        // Another part of this process may have opened it.
        guard other.openers == 1 else { return false }
        registry.setBusy(control, true)
        registry.setBusy(other.control, true)
        return true
      }
      guard isAlone else { throw Self.busyAdoption }
      defer {
        Registry.withLock { registry in
          registry.setBusy(control, false)
          registry.setBusy(other.control, false)
        }
      }
      try control.pointee.metaPages.remap(descriptor: other.handle.descriptor())
      other.endPool()
      closeHandle()
      handle = other.handle
      isLost = false
      place = other.place
      locks = other.locks
      other.place = nil
      other.locks = nil
      control.pointee.lower(.broken)
      databases = other.databases
      Registry.withLock { registry in
        registry.remove(other.control)
        registry.update(control, new)
        other.openers = 0
      }
      other.control.pointee.raise([.closed, .finished])
      control.pointee.generation.wrappingAdd(Control.nextGeneration, ordering: .releasing)
    }
  }

  private static var busyAdoption: LMDBError {
    LMDBError(
      code: .busy, operation: "Environment.adopt",
      message: "The files were deleted or replaced, and a snapshot of the old ones does not end. End it; it is tried "
        + "again.")
  }
}
