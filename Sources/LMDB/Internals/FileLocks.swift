#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Locks of our own on the data file, taken around what LMDB takes its mutexes for.
///
/// LMDB's mutexes are in the lock file, and are waited for as long as it takes: a process that is suspended with one
/// of them hangs every other one, and two processes whose lock file was deleted in between have two of them. These
/// locks belong to the data file itself and can be waited for with an end, and the kernel lets go of them with the
/// process. Since nobody asks for LMDB's mutex without having the lock first, nobody waits for the mutex.
///
/// The locks are those of a descriptor of their own (an open file description). LMDB's would do, if it did not map the
/// file with it: a map keeps the locks as a descriptor does, and every process that is forked inherits it.
struct FileLocks {
  let descriptor: Int32

  /// Opens a data file, which is the one that LMDB has open, once more.
  init(_ path: String, _ identity: FileIdentity, _ options: Environment.Options) throws(LMDBError) {
    guard let descriptor = try Platform.openFile(path, forWriting: !options.isReadOnly) else {
      throw LMDBError(code: .fileReplaced, operation: "open")
    }
    do throws(LMDBError) {
      guard try Platform.identity(ofDescriptor: descriptor) == identity else {
        throw LMDBError(code: .fileReplaced, operation: "open")
      }
    } catch {
      Platform.close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  /// Of a descriptor that the caller closes.
  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Ends the locks with the descriptor.
  func close() { Platform.close(descriptor) }

  // MARK: The writer's

  /// Takes the lock of the one writer of all processes; false: the time is over.
  ///
  /// - Parameter limit: Nanoseconds; nil: for ever.
  func takeWriter(within limit: UInt64?) throws(LMDBError) -> Bool {
    // Whoever waits holds the turn, so that a process that commits again and again does not keep the others out.
    if try !Self.isHeld(descriptor, .turn), try tryWriter() { return true }
    var backoff = Backoff(limit: limit ?? .max / 2)
    while try !Self.tryRange(descriptor, .turn) {
      guard backoff.pause() else { return false }
    }
    defer { Self.releaseRange(descriptor, .turn) }
    while try !tryWriter() {
      guard backoff.pause() else { return false }
    }
    return true
  }

  private func tryWriter() throws(LMDBError) -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      guard errno == EINTR else { throw LMDBError(errno: errno, operation: "flock") }
    }
    return true
  }

  func releaseWriter() {
    let status = flock(descriptor, LOCK_UN)
    assert(status == 0, "flock(LOCK_UN) failed")
  }

  // MARK: The reader table's

  /// The same for who changes the places of the reader table. One thread of a process at a time.
  func takeReaderTable(within limit: UInt64?) throws(LMDBError) -> Bool {
    var backoff = Backoff(limit: limit ?? .max / 2)
    while try !Self.tryRange(descriptor, .readerTable) {
      guard backoff.pause() else { return false }
    }
    return true
  }

  func releaseReaderTable() { Self.releaseRange(descriptor, .readerTable) }

  // MARK: Locks on a byte each, far behind the file's end

  private enum Range: off_t {
    case turn = 0x7FFF_FFFF_FFFF_0000
    case readerTable = 0x7FFF_FFFF_FFFF_0001
  }

  // The locks of an open file description are Linux's. Elsewhere there is no turn, and the reader table is without
  // a lock of ours.
  #if os(Linux)
    // fcntl.h defines them for GNU sources only, which Swift does not import it as.
    private static let getOpenFileLock: Int32 = 36
    private static let setOpenFileLock: Int32 = 37

    private static func lock(_ type: Int32, _ range: Range) -> flock {
      var lock = flock()
      lock.l_type = Int16(type)
      lock.l_whence = Int16(SEEK_SET)
      lock.l_start = range.rawValue
      lock.l_len = 1
      return lock
    }

    private static func isHeld(_ descriptor: Int32, _ range: Range) throws(LMDBError) -> Bool {
      var lock = lock(Int32(F_WRLCK), range)
      guard fcntl(descriptor, getOpenFileLock, &lock) == 0 else {
        throw LMDBError(errno: errno, operation: "fcntl(F_OFD_GETLK)")
      }
      return lock.l_type != Int16(F_UNLCK)
    }

    private static func tryRange(_ descriptor: Int32, _ range: Range) throws(LMDBError) -> Bool {
      var lock = lock(Int32(F_WRLCK), range)
      while fcntl(descriptor, setOpenFileLock, &lock) != 0 {
        if errno == EAGAIN || errno == EACCES { return false }
        guard errno == EINTR else { throw LMDBError(errno: errno, operation: "fcntl(F_OFD_SETLK)") }
      }
      return true
    }

    private static func releaseRange(_ descriptor: Int32, _ range: Range) {
      var lock = lock(Int32(F_UNLCK), range)
      let status = fcntl(descriptor, setOpenFileLock, &lock)
      assert(status == 0, "fcntl(F_OFD_SETLK, F_UNLCK) failed")
    }
  #else
    private static func isHeld(_ descriptor: Int32, _ range: Range) throws(LMDBError) -> Bool { false }
    private static func tryRange(_ descriptor: Int32, _ range: Range) throws(LMDBError) -> Bool { true }
    private static func releaseRange(_ descriptor: Int32, _ range: Range) {}
  #endif
}
