import EFStorageCore
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
  public typealias Failure = any Error

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
    /// - Throws: `EFStorageFailure` where something is stored that cannot be read as a `Content`. Calling it again waits for
    ///   what takes its place.
    public mutating func next() async throws -> Content?? { try await next(isolation: nil) }

    /// The next content, or `nil` if the sequence has ended.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Content?? {
      while await changes?.next() == true {
        guard let storage = reference.storage else { return nil }
        do {
          if try changes?.isNew(storage.entry(forKey: reference.key)) == true {
            return .some(try reference.loadContent())
          }
        } catch let error as CacheError where error.code == .closed {
          return nil
        }
      }
      return nil
    }
  }
}

// Sendable: it holds the reference alone.
extension ContentValues: Sendable where Content: Sendable {}
