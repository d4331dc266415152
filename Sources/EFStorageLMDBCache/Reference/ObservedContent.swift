import EFStorageCore
import LMDBCaching
public import Observation

/// The content of a reference, tracked by Observation: a SwiftUI view that reads ``content``, or whoever reads it within
/// `withObservationTracking(_:onChange:)`, is told when it changes, whoever changes it.
///
/// ```swift
/// let theme = $theme.observed
/// withObservationTracking { apply(theme.content ?? "light") } onChange: { refresh() }
/// ```
///
/// Changes are told as `ObservedValue` of the cache says.
public final class ObservedContent<Content: LMDBCacheStorable>: Observable {
  public let reference: EFStorageLMDBCacheRef<Content>
  private let observed: ObservedKey?

  init(_ reference: EFStorageLMDBCacheRef<Content>) {
    self.reference = reference
    observed = reference.storage.map { ObservedKey($0, key: reference.key) }
  }

  /// See ``EFStorageLMDBCacheRef/content``.
  public var content: Content? {
    get {
      _ = observed?.moment
      return reference.content
    }
    set { reference.content = newValue }
  }
}

// Sendable: the reference is, and nothing else changes.
extension ObservedContent: Sendable where Content: Sendable {}

extension EFStorageLMDBCacheRef {
  /// The content as an object that Observation tracks. Each access makes one; keep it as long as it is read.
  public var observed: ObservedContent<Content> { ObservedContent(self) }
}
