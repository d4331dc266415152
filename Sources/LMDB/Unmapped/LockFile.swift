package import Platform

/// LMDB's lock file, for inspection outside LMDB.
package enum LockFile {
  /// Calls `body`, which may open and close a directory's lock file, while no environment of this process has it open
  /// or can open it.
  ///
  /// Closing any descriptor of a file ends all `fcntl` locks of the process on it. An environment would lose its own
  /// and appear to belong to a dead process.
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
