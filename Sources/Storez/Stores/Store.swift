/// Gets and sets the values of keys: ``UserDefaultsStore``, ``CacheStore``, ``LMDBStore``, or one of your own.
public protocol Store {
  /// Removes the values of every key, without calling hooks.
  func clear()
}

extension Store {
  /// Runs `body`, and throws the first failure of a store on this thread instead of reporting it.
  ///
  /// ```swift
  /// try store.throwing { $0.set(Weather.temperature, value: 21) }
  /// let city = try store.throwing { $0.get(Weather.city) }
  /// ```
  ///
  /// A failed access is skipped, and `body` continues. The same holds in hooks.
  ///
  /// - Throws: any error of `body`, or else ``StorezFailure``.
  @discardableResult
  public func throwing<R>(_ body: (Self) throws -> R) throws -> R {
    let collector = FailureCollector()
    let result = try FailureCollector.$current.withValue(collector) { try body(self) }
    if let failure = collector.failure { throw failure }
    return result
  }
}
