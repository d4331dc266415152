package import Platform

/// LMDB's lock file, for those who look at it beside LMDB.
package enum LockFile {
  /// Calls `body`, which may open the lock file of a directory, and close it, while no environment of this process has that
  /// file open, and none can open it.
  ///
  /// Closing any descriptor of a file ends all locks that a process has on it (`fcntl`): an environment's, too, which
  /// would be taken for that of a dead process then.
  ///
  /// - Returns: `nil` if there is such an environment; `body` was not called.
  package static func whileClosed<R>(
    in directory: Directory, _ body: () throws(SystemError) -> R
  ) throws(SystemError) -> R? {
    let data = try directory.identity(of: OpenFiles.dataFile)
    let lockFile = try directory.identity(of: OpenFiles.lockFile)
    let number = Registry.withLock { registry -> Int? in
      switch registry.find(directory: directory.identity, data: data, lockFile: lockFile, exactly: false) {
      case .none: registry.reserve(directory.identity)
      case .open, .busy, .replaced: nil
      }
    }
    guard let number else { return nil }
    defer { Registry.withLock { $0.cancel(number) } }
    return try body()
  }
}
