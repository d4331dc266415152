import Foundation
import Synchronization

/// A store for parking and retrieving objects.
///
/// A parked object is a JSON snapshot in an LMDB environment; park it again to store later changes. Objects with an
/// identifier are stored once, and others point to them.
///
/// A garage is thread-safe, and several garages and processes may share a store. Each operation is one transaction that
/// sees all changes saved by others; changing operations run one at a time. Saves are durable: they survive a crash of
/// the program or the system, and a power cut.
///
/// Functions declare plain `throws`, as in GarageStorage, because the stored types' coding may throw any error. The
/// garage's own errors are ``GarageError``.
///
/// The first operation or ``loadPersistentStores(completionHandler:)`` opens the store; releasing the garage closes it.
// @unchecked: everything is constant or behind a lock, except the encryption delegate, which is documented to be called
// on any thread that uses the garage.
public final class Garage: @unchecked Sendable {
  /// The domain of the garage's errors as `NSError`: "GarageStorage".
  public static let errorDomain = GarageError.errorDomain

  struct State {
    var pending = PendingChanges()
    /// The open batches of `batchThread`, outermost first. Each includes the pending changes beneath it.
    var batches: [PendingChanges] = []
    var batchThread: ObjectIdentifier?
    /// The number of saves of pending changes.
    var generation = 0
    var isAutosaveEnabled = true
    var store: (any GarageStore)?
    var isClosed = false
    var delegate = Delegate()
    var encodingDates: [ObjectIdentifier: [JSONEncoder.DateEncodingStrategy]] = [:]
    var decodingDates: [ObjectIdentifier: [JSONDecoder.DateDecodingStrategy]] = [:]

    func isInBatch(_ thread: ObjectIdentifier) -> Bool { batchThread == thread }
  }

  // @unchecked: passed between threads, as its protocol documents.
  struct Delegate: @unchecked Sendable {
    var object: (any DataEncryptionDelegate)?
  }

  let descriptions: [PersistentStoreDescription]
  let state = Mutex(State())
  let loading = NSLock()
  /// Held for each change, or for a whole batch. Recursive, because a batch contains operations.
  let writing = NSRecursiveLock()

  /// Creates a garage whose stores are loaded on first use.
  ///
  /// - Parameter persistentStoreDescriptions: Only the first one is used; ``loadPersistentStores(completionHandler:)``
  ///   reports the others.
  public init(with persistentStoreDescriptions: [PersistentStoreDescription]) {
    descriptions = persistentStoreDescriptions
  }

  /// The program's garage "GarageStorage". See ``init(named:)``.
  public convenience init() {
    self.init(named: "GarageStorage")
  }

  /// A garage in `makePersistentStoreDescription("<name>.garage")`. If it cannot be opened, each operation throws the
  /// reason.
  public convenience init(named garageName: String) {
    self.init(with: [Garage.makePersistentStoreDescription("\(garageName).garage")])
  }

  deinit {
    state.withLock { $0.store }?.close()
  }

  /// Encrypts objects parked from now on. Held strongly. Without one, the default, objects are stored in plain text.
  ///
  /// Plain text objects remain readable and are encrypted when parked again. Once a garage holds an encrypted object,
  /// parking without a delegate is an error until all objects are deleted.
  public var dataEncryptionDelegate: (any DataEncryptionDelegate)? {
    get { state.withLock { $0.delegate }.object }
    set {
      let delegate = Delegate(object: newValue)
      state.withLock { $0.delegate = delegate }
    }
  }
}
