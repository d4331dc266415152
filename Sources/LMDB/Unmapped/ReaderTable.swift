package import Platform

/// LMDB's reader table, read from the lock file without opening the environment.
package struct ReaderTable: Sendable, Equatable {
  /// Slots that are or were in use.
  package let slotsInUse: Int
  /// The open snapshots, including those of dead processes.
  package let readers: [Environment.Reader]

  // mdb.c's `MDB_txninfo`: the state, padded to a cache line; the writers' mutex, likewise; then the slots, a cache
  // line each. The state is `mtb_magic`, `mtb_format`, a mutex, `mtb_txnid` and `mtb_numreaders`; a slot begins with
  // `mrb_txnid` and `mrb_pid`.
  private static let cacheLine = 64
  private static let countOffset = 8 + MemoryLayout<pthread_mutex_t>.size + 8
  private static let slotsOffset = lines(countOffset + 4) + lines(MemoryLayout<pthread_mutex_t>.size)
  /// `MDB_LOCK_FORMAT` with process-shared mutexes.
  private static let format: UInt32 = 0x1_0001

  private static func lines(_ bytes: Int) -> Int { (bytes + cacheLine - 1) / cacheLine * cacheLine }

  /// Reads the lock file of a directory.
  ///
  /// Opening and closing it would end the locks of an environment of this process, so an open environment is asked
  /// instead.
  ///
  /// - Returns: `nil` if the file is missing, unreadable, or has another layout.
  package static func read(_ directory: Directory) throws(LMDBError) -> ReaderTable? {
    let (data, lockFile) = try system { () throws(SystemError) in
      (try directory.identity(of: EnvironmentFiles.dataName), try directory.identity(of: EnvironmentFiles.lockName))
    }
    guard lockFile != nil else { return nil }
    let (environment, number) = Registry.withLock { registry -> (Environment?, Int?) in
      switch registry.find(directory: directory.identity, data: data, lockFile: lockFile, exactly: false) {
      case .open(let environment): return (environment, nil)
      // No environment of this process opens the file during the read.
      case .none: return (nil, registry.reserve(directory.identity))
      case .busy, .replaced: return (nil, nil)
      }
    }
    if let environment {
      let (info, readers) = (try environment.info(), try environment.readers())
      return ReaderTable(slotsInUse: info.readersInUse, readers: readers)
    }
    guard let number else { return nil }
    defer { Registry.withLock { $0.cancel(number) } }
    return try system { () throws(SystemError) in
      do throws(SystemError) {
        guard let file = try directory.open(EnvironmentFiles.lockName) else { return nil }
        return try parse(file)
      } catch {
        if error.errno == EACCES { return nil }
        throw error
      }
    }
  }

  private static func parse(_ file: borrowing File) throws(SystemError) -> ReaderTable? {
    #if os(Linux)
      var header = [UInt8](repeating: 0, count: slotsOffset)
      guard try file.read(&header) else { return nil }
      func word(_ offset: Int) -> UInt32 {
        header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
      }
      let count = Int(word(countOffset))
      guard word(0) == MetaPage.magic, word(4) == format, count <= Environment.Options.greatestMaxReaders,
        count <= (try file.status().size - slotsOffset) / cacheLine
      else { return nil }
      var slots = [UInt8](repeating: 0, count: count * cacheLine)
      guard try file.read(&slots, at: slotsOffset) else { return nil }
      let readers = slots.withUnsafeBytes { slots in
        (0..<count).compactMap { index -> Environment.Reader? in
          let id = slots.loadUnaligned(fromByteOffset: index * cacheLine, as: UInt64.self)
          let process = slots.loadUnaligned(fromByteOffset: index * cacheLine + 8, as: Int32.self)
          // All bits set: the slot has no open snapshot.
          return process == 0 || id == .max ? nil : Environment.Reader(process: process, transactionID: id)
        }
      }
      return ReaderTable(slotsInUse: count, readers: readers)
    #else
      // Its mutexes differ there.
      return nil
    #endif
  }
}

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
    let data = try directory.identity(of: EnvironmentFiles.dataName)
    let lockFile = try directory.identity(of: EnvironmentFiles.lockName)
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
