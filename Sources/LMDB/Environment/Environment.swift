import CLMDB
import Platform
import Synchronization

/// An open LMDB environment: the directory with `data.mdb` and `lock.mdb`, mapped into memory.
///
/// A process has one object per file: ``open(directory:options:)`` gives the same one to everybody, and each call
/// of it has to be balanced by a ``close()``. All functions may be called from any thread, except that a write
/// transaction ends on the thread it began on.
///
/// Reads come from a pool of reset transactions, which are renewed for each read (`MDB_NOTLS`). The map is never
/// writable, so that a full disk is an error and not a signal.
///
/// A child of `fork()` must not use the environment, nor open one, before `exec`.
// @unchecked: every stored property is either a constant or guarded as its comment says; LMDB's environment is
// thread-safe, the pool gives a transaction to one thread at a time, and the gate in `control` keeps everybody out
// while the map moves or after it is gone.
public final class Environment: @unchecked Sendable {
  /// The canonical path that the directory had when it was opened.
  public let directory: String

  /// The longest key, in bytes: 511 (`mdb_env_get_maxkeysize`).
  public let maxKeySize: Int

  let options: Options
  /// The `MDB_env`. Valid until `control` says finished, and while `isLost` does not. Changed while nobody is in: see
  /// ``adopt(_:)`` and ``reopen()``.
  var handle: OpaquePointer
  /// Whether `handle` was closed, and its files could not be opened again. Guarded by `writerMutex`.
  var isLost = false
  let control: UnsafeMutablePointer<Control>
  let slots: ReaderSlots
  let writerMutex = PlatformMutex()
  let metaPages: MetaPages
  /// The directory itself, wherever it is now. `nil` when the environment has ended. Guarded by `writerMutex`.
  var place: Directory?
  /// `nil` while there is no C environment. Guarded by `writerMutex`, and by the gate as `handle` is.
  var locks: FileLocks?
  /// One thread at a time changes this process's places in the reader table.
  let readerTableMutex = PlatformMutex()

  /// How often it was opened without being closed. Guarded by the registry's lock.
  var openers = 1

  /// State of the write transaction. Guarded by `writerMutex`.
  var writer = WriterState()

  /// Databases by name. Guarded by `writerMutex`.
  var databases: [String: Database] = [:]

  /// Takes over an open C environment.
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
    // Whoever wants the files waits until the entry is gone.
    if !control.pointee.current.contains(.finished) { endHandles() }
    Registry.withLock { $0.remove(control) }
    slots.deallocate()
    control.deinitialize(count: 1)
    control.deallocate()
  }

  /// Whether operations fail because the last ``close()`` was called.
  public var isClosed: Bool { control.pointee.current.contains(.closed) }

  /// The number of the last committed transaction of any process, at any time from any thread.
  ///
  /// Two loads from the file's meta pages, the words `mdb_env_info` reports. It may be visible a moment before a
  /// snapshot of that transaction can be had. After ``close()`` it still follows the file.
  public var lastTransactionID: UInt64 {
    metaPages.lastTransactionID
  }

  /// The position of the last committed transaction of any process; it needs no check. See ``position(of:)``.
  package func lastPosition() -> UInt64 {
    // In this order: with an old generation the new file's number is of no consequence, being below every number of
    // the new generation. The other way round, an old file's number would be above those to come.
    let generation = control.pointee.generation.load(ordering: .acquiring)
    return generation &+ metaPages.lastTransactionID
  }

  /// Changes with ``adopt(_:)`` and ``reopen()``.
  package var generation: UInt64 { control.pointee.generation.load(ordering: .acquiring) }

  /// The map size recorded in the file, by whichever process made it largest.
  var recordedMapSize: Int {
    metaPages.recordedMapSize
  }

  /// How many reads of this process are running.
  package var runningReads: Int { (0..<slots.count).count { !slots[$0].isFree } }

  /// Aborts the pool's transactions and closes the C environment.
  ///
  /// Nobody may be using the environment, nor get it from the registry: no thread may open the lock file while this one
  /// closes it.
  func endHandles() {
    closeHandle()
    place = nil
    control.pointee.raise([.closed, .finished])
  }

  /// Closes the C environment, if there is one. As for ``endHandles()``.
  func closeHandle() {
    if isLost { return }
    forgetMap()
    endPool()
    Calls.close(handle)
    locks = nil
  }

  /// Aborts the pool's transactions. Nobody may be reading.
  func endPool() {
    for index in 0..<slots.count {
      if let transaction = slots[index].transaction {
        Calls.abort(transaction)
        slots[index].transaction = nil
      }
    }
  }
}
