public import EFStorageCore
import LMDBCaching

/// The content of a reference, and then each that takes its place: what ``EFStorageLMDBCacheRef/values`` returns.
///
/// ```swift
/// for try await theme in $theme.values { apply(theme ?? "light") }
/// ```
///
/// Every iterator begins with the content that is there; of several changes that came before it asked it gives the last.
/// It ends when the cache is closed, or when its task is cancelled.
public struct ContentValues<Content: LMDBCacheStorable>: AsyncSequence {
  /// `nil` where there is no content.
  public typealias Element = Content?
  public typealias Failure = EFStorageFailure

  let reference: EFStorageLMDBCacheRef<Content>

  public func makeAsyncIterator() -> Iterator { Iterator(reference) }

  /// Waits for one content after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageLMDBCacheRef<Content>
    private var changes: KeyChanges?

    fileprivate init(_ reference: EFStorageLMDBCacheRef<Content>) {
      self.reference = reference
      changes = reference.storage.map { KeyChanges($0, key: reference.key) }
    }

    /// The next content, or `nil` if the sequence has ended.
    ///
    /// - Throws: `EFStorageFailure` where something is stored that cannot be read as a `Content`, where reading fails, and
    ///   where there is no cache. Calling it again waits for what takes its place, if there is a cache.
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

// Sendable: it holds the reference alone.
extension ContentValues: Sendable where Content: Sendable {}
