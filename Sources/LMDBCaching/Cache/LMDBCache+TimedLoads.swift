import Platform

extension LMDBCache {
  /// What `load` returns, or what a load of the key that is under way comes to, if that is in time.
  ///
  /// With a time limit `load` runs on another thread. Who finds a load under way waits for it on their own, so that
  /// a source that does not answer takes up one thread for a key, and not one for each caller.
  ///
  /// - Parameters:
  ///   - adopt: Makes a result of what somebody else has loaded, or returns `nil` if it is of no use here.
  ///   - load: Is told how long it may wait for somebody else's load.
  /// - Throws: `.loadTimedOut`, and what `load` throws.
  func awaiting<R: Sendable>(
    _ limit: Duration?, _ key: String, adopt: (any Sendable) -> R?,
    load: @escaping @Sendable (_ waitLimit: Duration) throws -> R
  ) throws -> R {
    let waitLimit = loadWaitLimit
    guard let limit else { return try load(waitLimit) }
    let start = MonotonicClock.nanoseconds
    var ownLimit = waitLimit
    switch store.flights.encounter(ByteKey(key), waitingFor: min(limit, waitLimit)) {
    case .ended(let outcome): if let result = adopt(try outcome.get()) { return result }
    case .running(let waited):
      if waited == limit { throw LoadQueue.timedOut(key, limit) }
      // It was waited for as long as is right.
      ownLimit = .zero
    case .none: break
    }
    let left = limit - .nanoseconds(MonotonicClock.nanoseconds - start)
    // `load` is told the limit before it is handed to another thread.
    let granted = ownLimit
    if left > .zero, let result = try LoadQueue.wait(left, { try load(granted) }) { return result }
    throw LoadQueue.timedOut(key, limit)
  }
}
