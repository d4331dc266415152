import Foundation
import Synchronization

/// A place to park objects in, and to retrieve them from.
///
/// What is parked is a snapshot, as JSON, in an LMDB environment. A later change of the object is stored when it is
/// parked again. Objects with an identifier are stored once, and other objects point to them.
///
/// A garage may be used from several threads, and the same store from several garages and processes: each operation is
/// one transaction, and sees what others have saved. Operations that change something take turns. Every save waits for
/// the disk: what was saved survives a crash of the program, of the system, and a power cut.
///
/// Its functions are declared with a plain `throws`, as in GarageStorage: types that encode and decode themselves throw what
/// they like. What the garage itself throws is ``GarageError``.
///
/// The store is opened by the first operation, or by ``loadPersistentStores(completionHandler:)``, and closed when the
/// garage is released.
// @unchecked: everything is constant or behind a lock, but for the encryption delegate, which is documented to be
// called on the threads that use the garage.
public final class Garage: @unchecked Sendable {
  /// The domain of the garage's errors as `NSError`: "GarageStorage".
  public static let errorDomain = GarageError.errorDomain

  struct State {
    /// What waits to be saved.
    var pending = PendingChanges()
    /// The batches that the thread in `batchThread` is in, from the outermost one: each holds what waits beneath it too.
    var batches: [PendingChanges] = []
    var batchThread: ObjectIdentifier?
    /// How often what waited was saved.
    var generation = 0
    var isAutosaveEnabled = true
    var store: (any GarageStore)?
    var isClosed = false
    var delegate = Delegate()
    var encodingDates: [ObjectIdentifier: [JSONEncoder.DateEncodingStrategy]] = [:]
    var decodingDates: [ObjectIdentifier: [JSONDecoder.DateDecodingStrategy]] = [:]

    func isInBatch(_ thread: ObjectIdentifier) -> Bool { batchThread == thread }
  }

  // @unchecked: handed from thread to thread, as its protocol says.
  struct Delegate: @unchecked Sendable {
    var object: (any DataEncryptionDelegate)?
  }

  let descriptions: [PersistentStoreDescription]
  let state = Mutex(State())
  /// Held while the store is being opened.
  let loading = NSLock()
  /// Held by who changes something, for a whole batch. Recursive: a batch's operations are in it.
  let writing = NSRecursiveLock()

  /// Makes a garage of stores, which are loaded at the first use.
  ///
  /// - Parameter persistentStoreDescriptions: The first one is where objects are kept. Others are not used, and
  ///   ``loadPersistentStores(completionHandler:)`` reports them.
  public init(with persistentStoreDescriptions: [PersistentStoreDescription]) {
    descriptions = persistentStoreDescriptions
  }

  /// The garage "GarageStorage" of the program. See ``init(named:)``.
  public convenience init() {
    self.init(named: "GarageStorage")
  }

  /// The garage of a name: `makePersistentStoreDescription("<name>.garage")`.
  ///
  /// If it cannot be opened, each operation throws the reason.
  public convenience init(named garageName: String) {
    self.init(with: [Garage.makePersistentStoreDescription("\(garageName).garage")])
  }

  deinit {
    state.withLock { $0.store }?.close()
  }

  /// Encrypts what is parked from now on. Held strongly. Without one, as by default, objects are stored in plain text.
  ///
  /// Objects that are in plain text already can still be retrieved, and are encrypted when they are parked again. Once a
  /// garage holds an encrypted object, parking without a delegate is an error, until all objects are deleted.
  public var dataEncryptionDelegate: (any DataEncryptionDelegate)? {
    get { state.withLock { $0.delegate }.object }
    set {
      let delegate = Delegate(object: newValue)
      state.withLock { $0.delegate = delegate }
    }
  }
}
