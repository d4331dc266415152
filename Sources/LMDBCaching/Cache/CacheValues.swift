/// The value under a key, and then each that takes its place: what ``LMDBCache/observe(_:forKey:)`` returns.
///
/// ```swift
/// for try await user in cache.observe(User.self, forKey: "user:42") { print(user) }
/// ```
///
/// Every iterator begins with the value that is there, and keeps nothing but what it needs to wait: of several changes
/// that came before it asked it gives the last. It ends when the cache is closed or released, which it does not keep
/// alive, or when its task is cancelled.
public struct CacheValues<Value: Codable & Sendable>: AsyncSequence, Sendable {
  /// `nil` where there is no value.
  public typealias Element = Value?
  public typealias Failure = CacheError

  private let cache: @Sendable () -> LMDBCache?
  private let key: String

  init(_ cache: LMDBCache, key: String) {
    self.cache = { [weak cache] in cache }
    self.key = key
  }

  public func makeAsyncIterator() -> Iterator { Iterator(cache, key) }

  /// Waits for one value after the other.
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
    /// - Throws: as `value(forKey:)`, where something is stored that cannot be read as a `Value`. Calling it again waits
    ///   for what takes its place.
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
