public import EFStorageCore
import LMDBCaching

/// The content of a reference and its later contents, from ``EFStorageLMDBCacheRef/values``.
///
/// ```swift
/// for try await theme in $theme.values { apply(theme ?? "light") }
/// ```
///
/// Each iterator starts with the present content and skips to the last of several pending changes. It ends when the
/// cache is closed, or when its task is cancelled.
public struct ContentValues<Content: LMDBCacheStorable>: AsyncSequence {
  /// `nil` for a missing content.
  public typealias Element = Content?
  public typealias Failure = EFStorageFailure

  let reference: EFStorageLMDBCacheRef<Content>

  public func makeAsyncIterator() -> Iterator { Iterator(reference) }

  /// Returns the contents in turn.
  public struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageLMDBCacheRef<Content>
    private var changes: KeyChanges?

    fileprivate init(_ reference: EFStorageLMDBCacheRef<Content>) {
      self.reference = reference
      changes = reference.storage.map { KeyChanges($0, key: reference.key) }
    }

    /// The next content, or `nil` if the sequence has ended.
    ///
    /// - Throws: `EFStorageFailure` if the entry is unreadable as a `Content`, reading fails, or the cache is missing.
    ///   Another call waits for the next content.
    public mutating func next() async throws(EFStorageFailure) -> Content?? { try await next(isolation: nil) }

    /// The next content, or `nil` if the sequence has ended.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(EFStorageFailure) -> Content?? {
      guard let storage = reference.storage else { return try .some(reference.loadContent()) }
      while await changes?.next() == true {
        let isNew: Bool
        do throws(CacheError) {
          isNew = try changes?.isNew(storage.entry(forKey: reference.key)) == true
        } catch {
          if error.code == .closed { return nil }
          throw reference.failure(.loading, error)
        }
        do throws(EFStorageFailure) {
          if isNew { return .some(try reference.loadContent()) }
        } catch {
          if (error.underlying as? CacheError)?.code == .closed { return nil }
          throw error
        }
      }
      return nil
    }
  }
}

// Sendable: it only holds the reference.
extension ContentValues: Sendable where Content: Sendable {}
