import Synchronization

extension Garage {
  /// Whether every operation that changes something is saved before it returns. Default true.
  ///
  /// If not, changes are seen by this garage at once, and by nobody else before ``save()``, which saves all of them or
  /// none. A crash before that loses all of them. Set to true, the next change saves what waits together with it.
  ///
  /// Inside ``withAutosaveDisabled(_:)`` it is false for the thread that runs the closure.
  public var isAutosaveEnabled: Bool {
    get {
      let thread = Self.thread
      return state.withLock { $0.isAutosaveEnabled && !$0.isInBatch(thread) }
    }
    set { state.withLock { $0.isAutosaveEnabled = newValue } }
  }

  /// Saves what waits, in one transaction, and waits for the disk. Does nothing if nothing waits.
  ///
  /// - Throws: ``GarageError/Code/storageFailed``. Everything goes on waiting then, and can be saved again.
  public func save() throws {
    try saveAll()
  }

  /// Runs a closure whose changes are one transaction: all of them are saved when it returns, or none if it throws.
  ///
  /// The closure sees its changes; others see them when they are saved. Changes made by other threads wait for the
  /// closure's end, so it must not wait for them. In a garage whose autosave is off, the changes of a closure that
  /// returns wait for ``save()`` with the others. Batches may be nested: an inner one that throws drops its own changes
  /// only.
  ///
  /// - Throws: what the closure throws; what ``save()`` throws, and then none of its changes is kept.
  @discardableResult
  public func withAutosaveDisabled<Result>(_ closure: () throws -> Result) throws -> Result {
    try batch(closure)
  }
}
