import Synchronization

extension MemoryCache {
  /// Whether a memory warning empties the cache. Default true.
  public var removesAllObjectsOnMemoryWarning: Bool {
    get { pressure.state.withLock { $0.removesAllOnWarning } }
    set { pressure.update { $0.removesAllOnWarning = newValue } }
  }

  /// Whether ``handleEnteringBackground()`` empties the cache. Default true.
  public var removesAllObjectsWhenEnteringBackground: Bool {
    get { pressure.state.withLock { $0.removesAllInBackground } }
    set { pressure.update { $0.removesAllInBackground = newValue } }
  }

  /// Called on a memory warning, before the cache is emptied, on any thread and under no lock.
  public var didReceiveMemoryWarning: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didReceiveWarning } }
    set { pressure.update { $0.didReceiveWarning = newValue } }
  }

  /// Called when the app has entered the background, before the cache is emptied, under no lock.
  public var didEnterBackground: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didEnterBackground } }
    set { pressure.update { $0.didEnterBackground = newValue } }
  }

  /// Handles a memory warning: calls ``didReceiveMemoryWarning``, then ``removeAll()`` if so configured.
  public func handleMemoryPressure() { pressure.warn() }

  /// Call this when the app enters the background. Calls ``didEnterBackground``, then ``removeAll()`` if so configured.
  public func handleEnteringBackground() { pressure.enterBackground() }
}
