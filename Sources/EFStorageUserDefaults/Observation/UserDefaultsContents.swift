public import EFStorageCore
import Foundation
import FoundationArchives

/// The content of a reference, and then each that takes its place: what ``EFStorageUserDefaultsRef/values`` returns.
///
/// ```swift
/// for try await theme in $theme.values { apply(theme ?? "light") }
/// ```
///
/// Every iterator begins with the content that is there; of several changes that came before it asked it gives the last,
/// and nothing where the content is the same again. It ends when its task is cancelled.
///
/// A write of this process through a reference is told at once, one past the references within 60 ms. What another process
/// writes is told when this one sees it: on Linux after the next `synchronize()`, which each change through a reference
/// brings about within a tenth of a second, and on Apple's systems when a change in this process follows.
public struct UserDefaultsContents<Content: UserDefaultsStorable>: AsyncSequence {
  /// `nil` where there is no content.
  public typealias Element = Content?
  public typealias Failure = EFStorageFailure

  let reference: EFStorageUserDefaultsRef<Content>

  public func makeAsyncIterator() -> Iterator { Iterator(reference) }

  /// Waits for one content after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageUserDefaultsRef<Content>
    private let moments: AsyncStream<Void>
    private var last: StoredObject?

    fileprivate init(_ reference: EFStorageUserDefaultsRef<Content>) {
      self.reference = reference
      // From now on, before the first look.
      moments = DefaultsFeed.shared.watch(reference.key)
    }

    /// The next content, or `nil` if the task is cancelled.
    ///
    /// - Throws: `EFStorageFailure` where something is stored that cannot be read as a `Content`. Calling it again waits for
    ///   what takes its place.
    public mutating func next() async throws(EFStorageFailure) -> Content?? { try await next(isolation: nil) }

    /// The next content, or `nil` if the task is cancelled.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(EFStorageFailure) -> Content?? {
      var waiting = moments.makeAsyncIterator()
      while !Task.isCancelled {
        // Looked at first: what is written while the content is read is seen as another one.
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

// Sendable: it holds the reference alone.
extension UserDefaultsContents: Sendable where Content: Sendable {}

extension EFStorageUserDefaultsRef {
  /// The content, and then each that takes its place, whoever writes it.
  public var values: UserDefaultsContents<Content> { UserDefaultsContents(reference: self) }
}
