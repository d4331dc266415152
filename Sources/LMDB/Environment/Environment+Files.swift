import CLMDB
import Platform
import Synchronization

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
    if try identity(of: OpenFiles.dataFile) != files.data { displacement.insert(.data) }
    if try identity(of: OpenFiles.lockFile) != files.lockFile { displacement.insert(.lockFile) }
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
    try control.pointee.checkUsable("Environment.adopt", except: .broken)
    guard other !== self, control.pointee.writerThread.load(ordering: .relaxed) != PlatformThread.current else {
      throw Self.busyAdoption
    }
    var backoff = Backoff(limit: Int64(clamping: options.waits.adoption))
    while !writerMutex.tryLock() {
      guard backoff.pause() else { throw Self.busyAdoption }
    }
    defer { writerMutex.unlock() }
    try whileQuiet(&backoff, busy: Self.busyAdoption, mends: true) { () throws(LMDBError) in
      guard let own = Registry.withLock({ $0.files(of: control) }),
        let new = Registry.withLock({ $0.files(of: other.control) }), own.lockFile != new.lockFile,
        metaPages.pageSize == other.metaPages.pageSize
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
      var descriptor: Int32 = -1
      let status = Calls.descriptor(other.handle, &descriptor)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envGetDescriptor) }
      try metaPages.remap(descriptor: descriptor)
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
