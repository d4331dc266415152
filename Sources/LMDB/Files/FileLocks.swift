package import Platform
import Synchronization

package struct EnvironmentFiles: Hashable, Sendable {
  static let dataName = "data.mdb"
  static let lockName = "lock.mdb"

  package let data: FileIdentity
  /// `nil` when LMDB runs without a lock file, on a read-only file system.
  package let lockFile: FileIdentity?

  package init(data: FileIdentity, lockFile: FileIdentity?) {
    self.data = data
    self.lockFile = lockFile
  }
}

/// This package's locks on the data file, taken before LMDB's own mutexes.
///
/// LMDB's mutexes live in the lock file and have no timeout: a process suspended while holding one hangs all others,
/// and if the lock file is deleted in between, two processes use different mutexes. These locks belong to the data
/// file, support a timeout, and are released by the kernel when the process ends. Every thread takes the lock before
/// LMDB's mutex, so none ever waits for the mutex.
///
/// The locks use a separate open file description, because LMDB maps its own descriptor and a map keeps locks alive.
/// They end with this object.
package final class FileLocks: Sendable {
  private let writer: FileLock
  /// The owner that keeps the writer's lock between this process's transactions.
  private let keeper = Mutex<ObjectIdentifier?>(nil)

  /// Whether the file is open for writing, which locks of bytes need.
  let canLock: Bool

  /// Takes ownership of the data file that LMDB has open or will open.
  init(_ file: consuming File, canLock: Bool = true) {
    writer = FileLock(file)
    self.canLock = canLock
  }

  /// For a data file that no environment of this process has open.
  package convenience init?(directory: Directory) throws(LMDBError) {
    guard let file = try system({ () throws(SystemError) in try directory.open(EnvironmentFiles.dataName, .writing) })
    else {
      return nil
    }
    self.init(file)
  }

  /// Returns the blocks of a range of the data file to the file system. Requires the writer's lock.
  func punchHole(at offset: Int, size: Int) throws(LMDBError) {
    try system { () throws(SystemError) in try writer.file.punchHole(at: offset, size: size) }
  }

  func identity() throws(LMDBError) -> FileIdentity {
    try system { () throws(SystemError) in try writer.file.identity() }
  }

  // MARK: The writer's

  /// Takes the lock of the single writer among all processes. Returns `false` on timeout.
  ///
  /// - Parameter limit: Nanoseconds; `nil` for no limit.
  func takeWriter(within limit: UInt64?) throws(LMDBError) -> Bool {
    if keeper.withLock({ $0 != nil }) { return true }
    // The waiter holds the turn, so that a process that commits repeatedly cannot starve the others.
    if !writer.file.isByteLocked(Self.turn), try tryWriter() { return true }
    var backoff = Backoff(limit: limit.map { Int64(clamping: $0) })
    while try !tryLock(Self.turn) {
      guard backoff.pause() else { return false }
    }
    defer { writer.file.unlockByte(Self.turn) }
    while try !tryWriter() {
      guard backoff.pause() else { return false }
    }
    return true
  }

  private func tryWriter() throws(LMDBError) -> Bool {
    try system { () throws(SystemError) in try writer.tryLock(.exclusive) }
  }

  func releaseWriter() {
    if keeper.withLock({ $0 != nil }) { return }
    do throws(SystemError) { try writer.unlock() } catch { assertionFailure("\(error)") }
  }

  /// Keeps the writer's lock, which is held, in this process when its transactions end.
  func keepWriter(for owner: AnyObject) { keeper.withLock { $0 = ObjectIdentifier(owner) } }

  func endKeepingWriter(for owner: AnyObject) {
    let isKept = keeper.withLock { keeper in
      guard keeper == ObjectIdentifier(owner) else { return false }
      keeper = nil
      return true
    }
    if isKept { releaseWriter() }
  }

  /// The holder of the writer's lock, for messages.
  func holder() throws(LMDBError) -> LockHolder? {
    try system { () throws(SystemError) in try writer.exclusiveHolder() }
  }

  // MARK: The reader table's

  /// Takes the lock for changing reader table slots. One thread of a process at a time.
  package func takeReaderTable(within limit: UInt64?) throws(LMDBError) -> Bool {
    var backoff = Backoff(limit: limit.map { Int64(clamping: $0) })
    while try !tryLock(Self.readerTable) {
      guard backoff.pause() else { return false }
    }
    return true
  }

  package func releaseReaderTable() { writer.file.unlockByte(Self.readerTable) }

  // Locks on a byte each, far behind the file's end. Open file description locks are Linux-only: elsewhere there is no
  // turn, and the reader table has no lock of ours.
  private static let turn: Int64 = 0x7FFF_FFFF_FFFF_0000
  private static let readerTable: Int64 = 0x7FFF_FFFF_FFFF_0001

  private func tryLock(_ place: Int64) throws(LMDBError) -> Bool {
    try system { () throws(SystemError) in try writer.file.tryLockByte(place) }
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
