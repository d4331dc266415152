/// Something that may have a content.
public protocol EFOptionalContentWrapper {
  associatedtype Content

  /// What is stored, or `nil` if nothing is or it cannot be read. Setting `nil` removes it.
  var content: Content? { get set }

  /// Returns what is stored, or `nil` if nothing is, and throws if it cannot be read.
  ///
  /// A container of your own that does not implement it returns ``content``, and never throws.
  func loadContent() throws -> Content?

  /// Stores a content, or removes it. If that fails it throws, and what was stored before is still there.
  ///
  /// A container of your own that does not implement it sets ``content``, and never throws.
  mutating func storeContent(_ content: Content?) throws
}

extension EFOptionalContentWrapper {
  public func loadContent() throws -> Content? { content }

  public mutating func storeContent(_ content: Content?) throws { self.content = content }
}

extension EFOptionalContentWrapper {
  /// Whether nothing is stored, rather than something that cannot be read.
  package var isAbsent: Bool {
    do { return try loadContent() == nil } catch { return false }
  }
}
