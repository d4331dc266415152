public import Foundation
import Platform
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
    var encodingDates: [ObjectIdentifier: JSONEncoder.DateEncodingStrategy] = [:]
    var decodingDates: [ObjectIdentifier: JSONDecoder.DateDecodingStrategy] = [:]

    func isInBatch(_ thread: ObjectIdentifier) -> Bool { batchThread == thread }

    func changes(of thread: ObjectIdentifier) -> PendingChanges {
      isInBatch(thread) ? batches.last ?? pending : pending
    }
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

  deinit { state.withLock { $0.store }?.close() }

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

extension Garage {
  /// Describes a durable store by name: a directory in `$XDG_DATA_HOME/<program>` or `~/.local/share/<program>` on
  /// Linux, in `Library/Application Support/<program>` on Apple platforms.
  ///
  /// - Parameter storeName: May contain folders: "Accounts/Main.garage".
  public static func makePersistentStoreDescription(_ storeName: String) -> PersistentStoreDescription {
    PersistentStoreDescription(url: dataDirectory.appendingPathComponent(storeName, isDirectory: true))
  }

  private static var dataDirectory: URL {
    let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    #if canImport(Darwin)
      let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
    #else
      let folder = URL(fileURLWithPath: BaseDirectory.data.path())
    #endif
    return folder.appendingPathComponent(program, isDirectory: true)
  }

  /// Opens the stores now, to report errors before the first operation.
  ///
  /// - Parameter block: Called for each description before this returns, with its error if any.
  public func loadPersistentStores(completionHandler block: (PersistentStoreDescription, (any Error)?) -> Void) {
    for (index, description) in descriptions.enumerated() {
      guard index == 0 else {
        block(description, GarageError.invalidStore("A garage has one store. Make another garage for the other one."))
        continue
      }
      do {
        _ = try store()
        block(description, nil)
      } catch {
        block(description, error)
      }
    }
  }

  /// Closes the store. Discards unsaved changes; later operations throw.
  public func close() {
    writing.withLock {
      let store = state.withLock { state in
        state.isClosed = true
        defer { state.store = nil }
        return state.store
      }
      store?.close()
    }
  }

  func store() throws -> any GarageStore {
    if let store = try openStore() { return store }
    return try loading.withLock {
      if let store = try openStore() { return store }
      guard let description = descriptions.first else {
        throw GarageError.invalidStore("The garage has no store. Give it a PersistentStoreDescription.")
      }
      let store: any GarageStore
      switch description.type {
      case .inMemory: store = MemoryStore()
      case .durable:
        guard let url = description.url, url.isFileURL else {
          throw GarageError.invalidStore("A durable store needs the URL of a directory. Set the description's url.")
        }
        store = try LMDBStore(directory: url, mapSize: description.mapSize)
      }
      state.withLock { $0.store = store }
      return store
    }
  }

  private func openStore() throws -> (any GarageStore)? {
    let (store, isClosed) = state.withLock { ($0.store, $0.isClosed) }
    guard !isClosed else { throw GarageError.closed }
    return store
  }
}

extension Garage {
  /// Whether every change is saved before its operation returns. Default true.
  ///
  /// Otherwise only this garage sees changes until ``save()``, which saves all of them or none. A crash before that
  /// loses them. After setting it to true, the next change also saves all pending ones.
  ///
  /// Inside ``withAutosaveDisabled(_:)`` it is false for the thread that runs the closure.
  public var isAutosaveEnabled: Bool {
    get {
      let thread = Self.thread
      return state.withLock { $0.isAutosaveEnabled && !$0.isInBatch(thread) }
    }
    set { state.withLock { $0.isAutosaveEnabled = newValue } }
  }

  /// Saves pending changes in one durable transaction. Does nothing if there are none.
  ///
  /// - Throws: ``GarageError/Code/storageFailed``. All changes stay pending then and can be saved again.
  public func save() throws {
    try writing.withLock {
      let store = try store()
      let thread = Self.thread
      let changes = state.withLock { state in
        state.changes(of: thread)
      }
      guard !changes.isEmpty else { return }
      try commitAll(changes, store)
      // When called in a batch, the batch starts over.
      state.withLock { state in
        guard state.isInBatch(thread) else { return }
        for index in state.batches.indices { state.batches[index] = PendingChanges() }
      }
    }
  }

  /// Runs a closure whose changes form one transaction: all are saved when it returns, or none if it throws.
  ///
  /// The closure sees its changes; others see them once saved. Other threads' changes wait for the closure, so it must
  /// not wait for them. With autosave off, the changes of a returning closure wait for ``save()``. Batches may be
  /// nested: an inner one that throws discards only its own changes.
  ///
  /// - Throws: The closure's error, or that of ``save()``; none of its changes is kept then.
  @discardableResult
  public func withAutosaveDisabled<Result>(_ closure: () throws -> Result) throws -> Result {
    writing.lock()
    defer { writing.unlock() }
    let thread = Self.thread
    state.withLock { state in
      state.batches.append(state.batches.last ?? state.pending)
      state.batchThread = thread
    }
    let result = Swift.Result { try closure() }
    let isKept = if case .success = result { true } else { false }
    let changes: PendingChanges? = state.withLock { state in
      let changes = state.batches.removeLast()
      if state.batches.isEmpty { state.batchThread = nil }
      if !isKept { return nil }
      if let outer = state.batches.indices.last {
        state.batches[outer] = changes
      } else if !state.isAutosaveEnabled {
        state.pending = changes
      } else {
        return changes
      }
      return nil
    }
    if let changes, !changes.isEmpty { try commitAll(changes, try store()) }
    return try result.get()
  }
}

extension Garage {
  static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

  /// Runs `body` with the calling thread's view: the stored objects with its pending changes.
  func read<R>(_ body: (GarageView) throws -> R) throws -> R {
    let store = try store()
    let thread = Self.thread
    while true {
      let before = state.withLock { $0.generation }
      let result = try store.read { snapshot -> R? in
        let (pending, now) = state.withLock { ($0.changes(of: thread), $0.generation) }
        // Changes saved between the two would be in neither: retry.
        guard now == before else { return nil }
        return try body(GarageView(snapshot: snapshot, pending: pending))
      }
      if let result { return result }
    }
  }

  /// Applies the changes that `body` returns, all or none: saves them or adds them to the pending ones.
  func change(_ body: (GarageView) throws -> PendingChanges) throws {
    try writing.withLock { try apply(try read(body)) }
  }

  func change(_ changes: PendingChanges) throws { try writing.withLock { try apply(changes) } }

  /// Requires `writing`.
  private func apply(_ changes: PendingChanges) throws {
    guard !changes.isEmpty else { return }
    let store = try store()
    let thread = Self.thread
    let pending: PendingChanges? = state.withLock { state in
      if state.isInBatch(thread), !state.batches.isEmpty {
        state.batches[state.batches.count - 1].merge(changes)
        return nil
      }
      guard state.isAutosaveEnabled else {
        state.pending.merge(changes)
        return nil
      }
      return state.pending
    }
    guard var pending else { return }
    if pending.isEmpty {
      try store.commit(changes)
    } else {
      pending.merge(changes)
      try commitAll(pending, store)
    }
  }

  /// Saves all pending changes. Requires `writing`.
  private func commitAll(_ changes: PendingChanges, _ store: any GarageStore) throws {
    try store.commit(changes)
    state.withLock { state in
      state.pending = PendingChanges()
      state.generation += 1
    }
  }
}

extension Garage {
  /// The stored form of JSON: the text, or the delegate's encryption of it.
  func content(of json: JSONValue) throws -> (bytes: [UInt8], isEncrypted: Bool) {
    let bytes = JSONWriter.bytes(of: json)
    guard let delegate = dataEncryptionDelegate else { return (bytes, false) }
    return (Array(try delegate.encrypt(Data(bytes)).utf8), true)
  }

  /// The source of this garage's objects. It retains the garage.
  var source: ObjectSource {
    ObjectSource(garage: self, delegate: { self.dataEncryptionDelegate }) { body in
      let dates = self.decodingOverride
      try self.read { try body($0, dates) }
    }
  }

  /// Runs `body` with a retrieval from a single snapshot.
  func retrieving<R>(_ body: (RetrievalSession) throws -> R) throws -> R {
    let dates = decodingOverride
    return try read { view in try body(RetrievalSession(source, view, dates: dates)) }
  }

  func changes(parking objects: [ParkingSession.Parked]) throws -> PendingChanges {
    var changes = PendingChanges()
    for object in objects {
      let content = try content(of: object.json)
      changes.park(object.key, content.bytes, isEncrypted: content.isEncrypted, object.status)
    }
    return changes
  }

  func park(_ session: ParkingSession) throws {
    let changes = try changes(parking: try session.finish())
    guard dataEncryptionDelegate == nil else { return try change(changes) }
    try change { view in
      guard try !view.isEncrypted() else { throw GarageError.missingEncryptionDelegate("The garage") }
      return changes
    }
  }
}

extension Garage {
  /// The date encoding for the calling thread. By default ISO 8601 text in UTC ("1950-01-01T05:00:00Z"), with
  /// fractional seconds as needed; outside the years 1600 to 9999, the number of seconds since 2001.
  public var dateEncodingStrategy: JSONEncoder.DateEncodingStrategy {
    encodingOverride ?? .custom { try ISODate.encode($0, to: $1) }
  }

  /// The date decoding for the calling thread. The default reads ISO 8601 text with any time zone and optional
  /// fraction, and the default form of ``dateEncodingStrategy``.
  public var dateDecodingStrategy: JSONDecoder.DateDecodingStrategy {
    decodingOverride ?? .custom { try RetrievalSession.date(from: $0) }
  }

  var encodingOverride: JSONEncoder.DateEncodingStrategy? {
    let thread = Self.thread
    return state.withLock { $0.encodingDates[thread] }
  }

  var decodingOverride: JSONDecoder.DateDecodingStrategy? {
    let thread = Self.thread
    return state.withLock { $0.decodingDates[thread] }
  }

  /// Runs a closure in which the calling thread parks dates in another form.
  ///
  /// The identifier of a `Hashable` object does not depend on it.
  public func withDateEncodingStrategy<Result>(
    _ strategy: JSONEncoder.DateEncodingStrategy, _ closure: () throws -> Result
  ) rethrows -> Result {
    let outer = override(\.encodingDates, strategy)
    defer { override(\.encodingDates, outer) }
    return try closure()
  }

  /// Runs a closure in which the calling thread reads dates in another form.
  ///
  /// A ``Reference`` resolved after the closure uses the form of the resolving thread.
  public func withDateDecodingStrategy<Result>(
    _ strategy: JSONDecoder.DateDecodingStrategy, _ closure: () throws -> Result
  ) rethrows -> Result {
    let outer = override(\.decodingDates, strategy)
    defer { override(\.decodingDates, outer) }
    return try closure()
  }

  /// Sets the calling thread's strategy. Returns the former one.
  @discardableResult
  private func override<Strategy: Sendable>(
    _ strategies: any WritableKeyPath<State, [ObjectIdentifier: Strategy]> & Sendable, _ strategy: Strategy?
  ) -> Strategy? {
    let thread = Self.thread
    return state.withLock { state in
      defer { state[keyPath: strategies][thread] = strategy }
      return state[keyPath: strategies][thread]
    }
  }
}
