import CLMDB
import Platform
import Synchronization

/// An open LMDB environment: the directory with `data.mdb` and `lock.mdb`, mapped into memory.
///
/// A process has one object per file: ``open(directory:options:)`` always returns the same one, and each call must be
/// balanced by a ``close()``. All functions may be called from any thread, but a write transaction must end on the
/// thread it began on.
///
/// Reads use a pool of reset transactions, renewed for each read (`MDB_NOTLS`). The map is never writable, so a full
/// disk is an error and not a signal.
///
/// A child of `fork()` must not use or open an environment before `exec`.
// @unchecked: every stored property is a constant or guarded as its comment says; LMDB's environment is thread-safe,
// the pool gives a transaction to one thread at a time, and the gate in `control` refuses operations while the map
// moves or after it is gone.
public final class Environment: @unchecked Sendable {
  /// The directory's canonical path when it was opened.
  public let directory: String

  /// The longest key, in bytes: 511 (`mdb_env_get_maxkeysize`).
  public let maxKeySize: Int

  let options: Options
  /// The `MDB_env`. Valid until `control` is finished, and not while `isLost`. Changed only while no operation runs:
  /// see ``adopt(_:)`` and ``reopen()``.
  var handle: OpaquePointer
  /// Whether `handle` was closed and its files could not be reopened. Guarded by `writerMutex`.
  var isLost = false
  let control: UnsafeMutablePointer<Control>
  let slots: ReaderSlots
  let writerMutex = PlatformMutex()
  let metaPages: MetaPages
  /// The directory, even if moved. `nil` once the environment has ended. Guarded by `writerMutex`.
  var place: Directory?
  /// `nil` without a C environment. Guarded by `writerMutex`, and by the gate like `handle`.
  var locks: FileLocks?
  /// Serializes this process's changes to the reader table.
  let readerTableMutex = PlatformMutex()

  /// Opens without a matching close. Guarded by the registry's lock.
  var openers = 1

  /// Guarded by `writerMutex`.
  var writer = WriterState()

  /// By name. Guarded by `writerMutex`.
  var databases: [String: Database] = [:]

  /// Takes ownership of an open C environment.
  init(_ opened: OpenFiles, options: Options, metaPages: MetaPages) {
    handle = opened.handle
    locks = opened.locks
    place = opened.directory
    directory = opened.directory.path
    self.options = options
    self.metaPages = metaPages
    maxKeySize = Int(Calls.maxKeySize(handle))
    slots = ReaderSlots(count: options.readerPoolSize, kept: options.keptReaders)
    control = .allocate(capacity: 1)
    control.initialize(to: Control())
  }

  deinit {
    // Threads that want the files wait until the entry is removed.
    if !control.pointee.current.contains(.finished) { endHandles() }
    Registry.withLock { $0.remove(control) }
    slots.deallocate()
    control.deinitialize(count: 1)
    control.deallocate()
  }

  /// Whether the last ``close()`` was called, so that operations fail.
  public var isClosed: Bool { control.pointee.current.contains(.closed) }

  /// The last committed transaction's number, of any process. Callable at any time from any thread.
  ///
  /// Two loads from the file's meta pages, the words that `mdb_env_info` reports. May run slightly ahead of the
  /// snapshots that can be opened. Follows the file even after ``close()``.
  public var lastTransactionID: UInt64 {
    metaPages.lastTransactionID
  }

  /// The position of the last committed transaction of any process; needs no check. See ``position(of:)``.
  package func lastPosition() -> UInt64 {
    // The order matters: with an old generation, the new file's number is below all of the new generation and harmless.
    // The other way round, an old file's number would exceed later ones.
    let generation = control.pointee.generation.load(ordering: .acquiring)
    return generation &+ metaPages.lastTransactionID
  }

  /// Changes with ``adopt(_:)`` and ``reopen()``.
  package var generation: UInt64 { control.pointee.generation.load(ordering: .acquiring) }

  /// The largest map size that any process has recorded in the file.
  var recordedMapSize: Int {
    metaPages.recordedMapSize
  }

  /// Running reads of this process.
  package var runningReads: Int { (0..<slots.count).count { !slots[$0].isFree } }

  /// Aborts the pool's transactions and closes the C environment.
  ///
  /// The environment must be unused and unreachable in the registry: no thread may open the lock file during the close.
  func endHandles() {
    closeHandle()
    place = nil
    control.pointee.raise([.closed, .finished])
  }

  /// Closes the C environment, if any. Requirements as for ``endHandles()``.
  func closeHandle() {
    if isLost { return }
    forgetMap()
    endPool()
    Calls.close(handle)
    locks = nil
  }

  /// Aborts the pool's transactions. No read may be running.
  func endPool() {
    for index in 0..<slots.count {
      if let transaction = slots[index].transaction {
        Calls.abort(transaction)
        slots[index].transaction = nil
      }
    }
  }
}
