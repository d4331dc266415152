/// A place that may have a content.
public protocol EFOptionalContentWrapper {
  associatedtype Content

  /// The stored content, or `nil` if it is missing or unreadable. Setting `nil` removes it.
  var content: Content? { get set }

  /// Returns the stored content, or `nil` if it is missing; throws if it is unreadable. By default it returns
  /// ``content``.
  func loadContent() throws -> Content?

  /// Stores or removes a content. If it throws, the old content stays. By default it sets ``content``.
  mutating func storeContent(_ content: Content?) throws
}

extension EFOptionalContentWrapper {
  public func loadContent() throws -> Content? { content }

  public mutating func storeContent(_ content: Content?) throws { self.content = content }
}

extension EFOptionalContentWrapper {
  /// Whether the content is missing rather than unreadable.
  package var isAbsent: Bool {
    do { return try loadContent() == nil } catch { return false }
  }
}
