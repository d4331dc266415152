public import Foundation

// The background forms of the functions in `LMDBCache+Objects`.
//
// Writes run in the order of the calls, and reads see the writes of earlier calls. Direct calls do not wait for them.

extension LMDBCache {
  // MARK: With a completion, which is called on a background queue

  /// Calls `completion` with the key and whether there is an object under it.
  public func containsObject(forKey key: String, completion: @escaping @Sendable (String, Bool) -> Void) {
    background.run(.read) { [self] in
      containsObject(forKey: key)
    } completion: {
      completion(key, $0)
    }
  }

  /// Calls `completion` with the key and the object under it, or the error.
  public func object(
    forKey key: String, completion: @escaping @Sendable (String, Result<(any NSCoding)?, CacheError>) -> Void
  ) {
    background.run(.read) { [self] in
      sharedObject(forKey: key)
    } completion: {
      completion(key, $0.map { $0?.object })
    }
  }

  /// Stores the object in the background, then calls `completion` with the error, if any.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    let shared = object.map { SharedObject(object: $0) }
    background.report(
      .write,
      { [self] () throws(CacheError) in try setObject(shared?.object, forKey: key, expiresIn: expiresIn, cost: cost) },
      completion: completion)
  }

  /// Removes the object in the background, then calls `completion` with the key and the error, if any.
  public func removeObject(forKey key: String, completion: @escaping @Sendable (String, CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeObject(forKey: key) }) { completion(key, $0) }
  }

  /// Removes every object in the background, then calls `completion` with the error, if any.
  public func removeAllObjects(completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeAllObjects() }, completion: completion)
  }

  /// Removes every object in the background.
  ///
  /// - Parameters:
  ///   - progress: Called at the start and the end with the numbers of removed and of all entries; the database drops
  ///     all at once.
  ///   - completion: Called last, with the error, if any.
  public func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?,
    completion: (@Sendable (CacheError?) -> Void)?
  ) {
    diskCache.removeAllObjects(progress: progress, completion: completion) { [self] () throws(CacheError) in
      try removeAllObjects()
    }
  }

  // MARK: For tasks. The work is done on a background queue, not on the caller's executor.

  /// See ``removeAllObjects()``.
  public nonisolated(nonsending) func removeAllObjects() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAllObjects() }
  }

  private func sharedObject(forKey key: String) -> Result<SharedObject?, CacheError> {
    outcome { () throws(CacheError) in try object(forKey: key).map { SharedObject(object: $0) } }
  }
}
