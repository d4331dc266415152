import CPlatform
import Platform
import Synchronization

/// Locks of our own on the data file, taken around what LMDB takes its mutexes for.
///
/// LMDB's mutexes are in the lock file, and are waited for as long as it takes: a process that is suspended with one
/// of them hangs every other one, and two processes whose lock file was deleted in between have two of them. These
/// locks belong to the data file itself and can be waited for with an end, and the kernel lets go of them with the
/// process. Since nobody asks for LMDB's mutex without having the lock first, nobody waits for the mutex.
///
/// The locks are those of a descriptor of their own (an open file description). LMDB's would do, if it did not map the
/// file with it: a map keeps the locks as a descriptor does. They end with the object.
package final class FileLocks: Sendable {
  private let writer: FileLock
  /// Who keeps the writer's lock between the transactions of this process.
  private let keeper = Mutex<ObjectIdentifier?>(nil)

  /// Takes a data file over, which is the one that LMDB has open, or will have.
  init(_ file: consuming File) { writer = FileLock(file) }

  /// For a data file that no environment of this process has open.
  package convenience init?(directory: Directory) throws(LMDBError) {
    guard let file = try system({ () throws(SystemError) in try directory.open("data.mdb", .writing) }) else {
      return nil
    }
    self.init(file)
  }

  /// Gives the blocks of a part of the data file back. For who has the writer's lock.
  func punchHole(at offset: Int, size: Int) throws(LMDBError) {
    try system { () throws(SystemError) in try writer.file.punchHole(at: offset, size: size) }
  }

  func identity() throws(LMDBError) -> FileIdentity {
    try system { () throws(SystemError) in try writer.file.identity() }
  }

  // MARK: The writer's

  /// Takes the lock of the one writer of all processes. Returns `false` if the time is over.
  ///
  /// - Parameter limit: Nanoseconds; `nil` for as long as it takes.
  func takeWriter(within limit: UInt64?) throws(LMDBError) -> Bool {
    if keeper.withLock({ $0 != nil }) { return true }
    // Whoever waits holds the turn, so that a process that commits again and again does not keep the others out.
    if try !call(.turn, Self.ask), try tryWriter() { return true }
    var backoff = Backoff(limit: limit.map { Int64(clamping: $0) })
    while try call(.turn, Self.take) {
      guard backoff.pause() else { return false }
    }
    defer { release(.turn) }
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

  /// Has the writer's lock, which is held, stay with this process when its transactions end.
  func keepWriter(for owner: AnyObject) { keeper.withLock { $0 = ObjectIdentifier(owner) } }

  func endKeepingWriter(for owner: AnyObject) {
    let isKept = keeper.withLock { keeper in
      guard keeper == ObjectIdentifier(owner) else { return false }
      keeper = nil
      return true
    }
    if isKept { releaseWriter() }
  }

  /// Who holds the writer's lock, for a message.
  func holder() throws(LMDBError) -> LockHolder? {
    try system { () throws(SystemError) in try writer.exclusiveHolder() }
  }

  // MARK: The reader table's

  /// The same for who changes the places of the reader table. One thread of a process at a time.
  package func takeReaderTable(within limit: UInt64?) throws(LMDBError) -> Bool {
    var backoff = Backoff(limit: limit.map { Int64(clamping: $0) })
    while try call(.readerTable, Self.take) {
      guard backoff.pause() else { return false }
    }
    return true
  }

  package func releaseReaderTable() { release(.readerTable) }

  // MARK: Locks on a byte each, far behind the file's end

  // The locks of an open file description are Linux's. Elsewhere there is no turn, and the reader table is without
  // a lock of ours.
  private enum Place: Int64 {
    case turn = 0x7FFF_FFFF_FFFF_0000
    case readerTable = 0x7FFF_FFFF_FFFF_0001
  }

  private static let take: Int32 = 1
  private static let ask: Int32 = -1

  /// Returns whether somebody else has the lock.
  private func call(_ place: Place, _ action: Int32) throws(LMDBError) -> Bool {
    let status = cplatform_byte_lock(writer.file.descriptor, place.rawValue, action)
    if status < 0 { throw LMDBError(errno: currentErrno(), operation: "fcntl(F_OFD_SETLK)") }
    return status == 1
  }

  private func release(_ place: Place) {
    let status = cplatform_byte_lock(writer.file.descriptor, place.rawValue, 0)
    assert(status == 0, "fcntl(F_OFD_SETLK, F_UNLCK) failed")
  }
}
