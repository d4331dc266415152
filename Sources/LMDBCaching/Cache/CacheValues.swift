/// The value under a key and its later values, from ``LMDBCache/observe(_:forKey:)``.
///
/// ```swift
/// for try await user in cache.observe(User.self, forKey: "user:42") { print(user) }
/// ```
///
/// Each iterator starts with the present value and skips to the last of several pending changes. It ends when its task
/// is cancelled or the cache is closed or released; it does not keep the cache alive.
public struct CacheValues<Value: Codable & Sendable>: AsyncSequence, Sendable {
  /// `nil` for a missing value.
  public typealias Element = Value?
  public typealias Failure = CacheError

  private let cache: @Sendable () -> LMDBCache?
  private let key: String

  init(_ cache: LMDBCache, key: String) {
    self.cache = { [weak cache] in cache }
    self.key = key
  }

  public func makeAsyncIterator() -> Iterator { Iterator(cache, key) }

  /// Waits for the values in turn.
  public struct Iterator: AsyncIteratorProtocol {
    private let cache: @Sendable () -> LMDBCache?
    private let key: String
    private var changes: KeyChanges?

    fileprivate init(_ cache: @escaping @Sendable () -> LMDBCache?, _ key: String) {
      self.cache = cache
      self.key = key
      changes = cache().map { KeyChanges($0, key: key) }
    }

    /// The next value, or `nil` if the sequence has ended.
    ///
    /// - Throws: as `value(forKey:)`, if the entry cannot be read as a `Value`. Another call waits for its replacement.
    public mutating func next() async throws(CacheError) -> Value?? { try await next(isolation: nil) }

    /// The next value, or `nil` if the sequence has ended.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(CacheError) -> Value?? {
      while await changes?.next() == true {
        guard let cache = cache() else { return nil }
        do throws(CacheError) {
          if try changes?.isNew(cache.entry(forKey: key)) == true {
            return .some(try cache.value(Value.self, forKey: key))
          }
        } catch {
          if error.code == .closed { return nil }
          throw error
        }
      }
      return nil
    }
  }
}
