package import Platform

/// LMDB's table of readers, as its lock file tells, without opening the environment.
package struct ReaderTable: Sendable, Equatable {
  /// Slots that are or were in use.
  package let slotsInUse: Int
  /// The snapshots that are open; those of dead processes, too.
  package let readers: [Environment.Reader]

  // mdb.c's `MDB_txninfo`, with mutexes that several processes share: two cache lines, the first of which begins with
  // `mtb_magic`, `mtb_format`, `mtb_txnid` and `mtb_numreaders`; then the slots, a cache line each, which begin with
  // `mrb_txnid` and `mrb_pid`.
  private static let headerSize = 128
  private static let slotSize = 64
  private static let countOffset = 16

  /// Reads the lock file of a directory.
  ///
  /// Opening that file and closing it again would end the locks that an environment of this process has on it: where
  /// there is one, it is asked instead.
  ///
  /// - Returns: `nil` if there is no such file, it may not be read, or it is laid out in another way.
  package static func read(_ directory: Directory) throws(LMDBError) -> ReaderTable? {
    let (data, lockFile) = try system { () throws(SystemError) in
      (try directory.identity(of: OpenFiles.dataFile), try directory.identity(of: OpenFiles.lockFile))
    }
    guard lockFile != nil else { return nil }
    let (environment, number) = Registry.withLock { registry -> (Environment?, Int?) in
      switch registry.find(directory: directory.identity, data: data, lockFile: lockFile, exactly: false) {
      case .open(let environment): return (environment, nil)
      // Nobody of this process opens the file while it is being read.
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
        guard let file = try directory.open(OpenFiles.lockFile) else { return nil }
        return try parse(file)
      } catch {
        if error.errno == EACCES { return nil }
        throw error
      }
    }
  }

  private static func parse(_ file: borrowing File) throws(SystemError) -> ReaderTable? {
    #if os(Linux)
      var header = [UInt8](repeating: 0, count: headerSize)
      guard Int.bitWidth == 64, try file.read(&header) else { return nil }
      let (magic, count) = header.withUnsafeBytes {
        ($0.loadUnaligned(as: UInt32.self), Int($0.loadUnaligned(fromByteOffset: countOffset, as: UInt32.self)))
      }
      guard magic == MetaPage.magic, count <= (try file.status().size - headerSize) / slotSize else { return nil }
      var slots = [UInt8](repeating: 0, count: count * slotSize)
      guard try file.read(&slots, at: headerSize) else { return nil }
      let readers = slots.withUnsafeBytes { slots in
        (0..<count).compactMap { index -> Environment.Reader? in
          let id = slots.loadUnaligned(fromByteOffset: index * slotSize, as: UInt64.self)
          let process = slots.loadUnaligned(fromByteOffset: index * slotSize + 8, as: Int32.self)
          // No snapshot is open: all bits are set.
          return process == 0 || id == .max ? nil : Environment.Reader(process: process, transactionID: id)
        }
      }
      return ReaderTable(slotsInUse: count, readers: readers)
    #else
      // Its mutexes are others there.
      return nil
    #endif
  }
}
