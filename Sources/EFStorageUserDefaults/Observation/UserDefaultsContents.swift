public import EFStorageCore
import Foundation
import FoundationArchives

/// The content of a reference and its later contents, from ``EFStorageUserDefaultsRef/values``.
///
/// ```swift
/// for try await theme in $theme.values { apply(theme ?? "light") }
/// ```
///
/// Each iterator starts with the present content, then skips to the last of several pending changes and omits equal
/// contents. It ends when its task is cancelled.
///
/// It sees writes of this process through a reference at once, others within 60 ms, and writes of another process when
/// this one sees them: on Linux after the next `synchronize()`, which follows each change through a reference within a
/// tenth of a second, and on Apple platforms with the next change in this process.
public struct UserDefaultsContents<Content: UserDefaultsStorable>: AsyncSequence {
  /// `nil` for a missing content.
  public typealias Element = Content?
  public typealias Failure = EFStorageFailure

  let reference: EFStorageUserDefaultsRef<Content>

  public func makeAsyncIterator() -> Iterator { Iterator(reference) }

  /// Returns the contents in turn.
  public struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageUserDefaultsRef<Content>
    private let moments: AsyncStream<Void>
    private var last: StoredObject?

    fileprivate init(_ reference: EFStorageUserDefaultsRef<Content>) {
      self.reference = reference
      // Watch before the first look.
      moments = DefaultsFeed.shared.watch(reference.key)
    }

    /// The next content, or `nil` if the task is cancelled.
    ///
    /// - Throws: `EFStorageFailure` if the object is unreadable as a `Content`. Another call waits for the next
    ///   content.
    public mutating func next() async throws(EFStorageFailure) -> Content?? { try await next(isolation: nil) }

    /// The next content, or `nil` if the task is cancelled.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(EFStorageFailure) -> Content?? {
      var waiting = moments.makeAsyncIterator()
      while !Task.isCancelled {
        // Taken first, so that a write during the read counts as another content.
        let object = StoredObject(reference.storage, reference.key)
        if last.map({ !$0.isSame(as: object) }) ?? true {
          last = object
          return .some(try reference.load())
        }
        guard await waiting.next(isolation: actor) != nil else { return nil }
      }
      return nil
    }
  }
}

// Sendable: it only holds the reference.
extension UserDefaultsContents: Sendable where Content: Sendable {}

extension EFStorageUserDefaultsRef {
  /// The content and its later contents, by any writer.
  public var values: UserDefaultsContents<Content> { UserDefaultsContents(reference: self) }
}
