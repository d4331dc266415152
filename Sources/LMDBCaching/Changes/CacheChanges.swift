/// The changes of a cache from one moment on, from ``LMDBCache/changes(withPrefix:bufferingLimit:)``.
///
/// ```swift
/// for await change in cache.changes(withPrefix: "user:") { … }
/// ```
///
/// It ends when the cache is closed or released, which it does not keep alive, or when a waiting task is cancelled. The
/// observation ends with the last copy of this and its iterators. Iterators of one sequence share its changes: each
/// change goes to one of them.
public struct CacheChanges: AsyncSequence, Sendable {
  public typealias Element = CacheChange
  public typealias Failure = Never

  let observation: ChangeObservation

  public func makeAsyncIterator() -> Iterator { Iterator(observation: observation) }

  /// Returns the changes in turn.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let observation: ChangeObservation

    /// The next change, or `nil` if the sequence has ended.
    public mutating func next() async -> CacheChange? { await observation.mailbox.next() }

    /// The next change, or `nil` if the sequence has ended.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> CacheChange? {
      await observation.mailbox.next()
    }
  }
}
