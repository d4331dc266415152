import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

// Opening files that others have open too, and have perhaps lost. With the opening lock held.

extension DiskStore {
  /// Sees to it that LMDB's lock file, if there is one, belongs to the data file beside it; returns whether there is.
  ///
  /// The lock file holds the number of the last transaction and the table of readers. With another data file they are
  /// wrong: what is read and written then is of any age. So a lock file whose data file was deleted or replaced goes;
  /// who still has it open goes over to the new one before the next write, or within about a second.
  ///
  /// - Parameter record: Of the processes that have the cache open. What it says of a cache that nobody has open is of
  ///   files that may be gone, and whose numbers may be used again.
  static func dissolveMismatchedPair(
    _ directory: String, _ record: ProcessRecord?, _ displaced: DisplacedFiles?
  ) throws(SystemError) -> Bool {
    let (dataPath, lockPath) = (directory + "/data.mdb", directory + "/lock.mdb")
    if let displaced, displaced.displacement.contains(.isTruncated),
      try Directory.identity(of: dataPath) == displaced.files.data
    {
      // Whoever reads it where it ends now gets a SIGBUS. It is kept, for who wants to know.
      try Directory.move(dataPath, to: dataPath + ".truncated")
    }
    let data = try Directory.identity(of: dataPath)
    guard let lockFile = try Directory.identity(of: lockPath) else { return false }
    let pairs = [displaced?.files, record?.files].compactMap(\.self)
    if data == nil || pairs.contains(where: { $0.lockFile == lockFile && $0.data != data }) {
      try Directory.removeFile(lockPath)
      return false
    }
    return true
  }

  /// Refuses a directory that a process of another PID namespace has open: each would take the other's readers for
  /// dead, or a stranger for them.
  static func checkNamespace(_ directory: String, _ processLock: ProcessLock) throws(CacheError) {
    let record = try calling("Opening the cache in \(directory)") { () throws(SystemError) in
      try processLock.record()
    }
    let own = ProcessNamespace.current
    guard let record, record.namespace != 0, own != 0, record.namespace != own else { return }
    throw CacheError(
      .processNamespaceMismatch,
      "\(directory) is open in a process of another PID namespace (pid:[\(record.namespace)], this is pid:[\(own)]): "
        + "neither can tell whether the other is alive. Give each container a directory of its own, let them share a PID "
        + "namespace, or close the cache there first.")
  }

  /// Writes down what the processes have in common, and where the files are.
  static func settle(
    _ environment: Environment, _ directory: String, _ processLock: ProcessLock, _ identity: FileIdentity
  ) throws(CacheError) -> StorePlace {
    try calling("Opening the cache in \(directory)") { () throws(SystemError) in
      try processLock.write(ProcessRecord(namespace: ProcessNamespace.current, files: environment.files))
      return StorePlace(
        directory: identity, processLock: processLock,
        dataSize: try Directory.size(of: directory + "/data.mdb") ?? 0)
    }
  }

  /// Waits until whoever has the data file open with a lock file that was deleted has noticed: until then its readers
  /// are in nobody's table, and their pages would be used again by writes.
  static func waitForReadersOfOldLockFile(_ environment: Environment, _ displaced: DisplacedFiles?) {
    // With a new data file there are no such readers.
    if environment.lastTransactionID <= 1 { return }
    if let displaced, displaced.files.data != environment.files.data || displaced.files == environment.files { return }
    usleep(UInt32(peerScanInterval / 1_000 * 3 / 2))
  }
}
