/// Something that may have a content.
public protocol EFOptionalContentWrapper {
  associatedtype Content

  /// What is stored; nil: nothing is, or it cannot be read. Setting nil removes it.
  var content: Content? { get set }

  /// What is stored; nil: nothing is.
  ///
  /// Unlike ``content`` it tells what is not there from what cannot be read. A container of your own that does not
  /// implement it cannot: there, this is `content`.
  func loadContent() throws -> Content?

  /// Stores a content, or removes it, and throws if that fails; what was stored before is then still there.
  ///
  /// A container of your own that does not implement it does not tell: there, this sets `content`.
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
