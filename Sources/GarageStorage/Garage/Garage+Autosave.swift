import Synchronization

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
    try saveAll()
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
    try batch(closure)
  }
}
