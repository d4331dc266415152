import EFStorageCore
public import Observation

/// The content of a reference, tracked by Observation: a SwiftUI view that reads ``content``, or whoever reads it within
/// `withObservationTracking(_:onChange:)`, is told when it changes.
///
/// ```swift
/// let theme = $theme.observed
/// withObservationTracking { apply(theme.content ?? "light") } onChange: { refresh() }
/// ```
///
/// What is told, and when, is as ``UserDefaultsContents`` says, on a thread of Swift's pool; a change within 10 ms of
/// another one is told when these have passed. One that comes after the content was read, and before the closure has ended
/// that Observation tracks, can be told when it has ended only, and is: within 10 ms and as long again as it went on since,
/// or an hour if that is less. (If the content changes 64 times meanwhile, perhaps with the next change only.) Keep it as
/// long as it is read.
public final class ObservedUserDefaults<Content: UserDefaultsStorable>: Observable {
  public let reference: EFStorageUserDefaultsRef<Content>
  private let observed: ObservedDefaultsKey

  init(_ reference: EFStorageUserDefaultsRef<Content>) {
    self.reference = reference
    observed = ObservedDefaultsKey(reference.storage, reference.key)
  }

  /// See ``EFStorageUserDefaultsRef/content``.
  public var content: Content? {
    get {
      _ = observed.moment
      return reference.content
    }
    set { reference.content = newValue }
  }
}

// Sendable: the reference is, and nothing else changes.
extension ObservedUserDefaults: Sendable where Content: Sendable {}

extension EFStorageUserDefaultsRef {
  /// The content as an object that Observation tracks. Each access makes one; keep it as long as it is read.
  public var observed: ObservedUserDefaults<Content> { ObservedUserDefaults(self) }
}
