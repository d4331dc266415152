/// A content of another type, turned into this one. Setting a content does nothing; `nil` removes the old form.
///
/// It is the second part of a composition: what is stored in the old form is found, and what is set is stored in the
/// new form. So what is removed, or set to `nil`, does not come back in its old form. What cannot be read in the old form
/// stays: where both forms have one key it may be the new one.
///
/// ```swift
/// @EFStorageComposition(
///   EFStorageUserDefaults<String>(wrappedValue: "none", forKey: "size"),
///   EFStorageMigrate(
///     from: EFStorageUserDefaults<Int>(wrappedValue: 0, forKey: "sizeInPoints"),
///     by: { points in "\(points) pt" }))
/// var size: String
/// ```
public struct EFStorageMigrate<A: EFStorage, OldContent, Content>: EFStorage where A.Content == OldContent {
  public typealias Migrator = @Sendable (OldContent) -> Content

  private let a: Place<A>
  private let migrator: Migrator

  public init(from a: A, by migrator: @escaping Migrator) {
    self.a = Place(a)
    self.migrator = migrator
  }

  public var wrappedValue: Content {
    get { content ?? migrator(a.current.wrappedValue) }
    nonmutating set { content = newValue }
  }

  public var content: Content? {
    get { a.current.content.map(migrator) }
    nonmutating set {
      if newValue.isNil && hasOldForm { a.change { $0.content = nil } }
    }
  }

  public func loadContent() throws -> Content? { try a.current.loadContent().map(migrator) }

  /// Removes the old form if the content is `nil`, and does nothing else.
  public func storeContent(_ content: Content?) throws {
    if content.isNil && hasOldForm { try a.change { try $0.storeContent(nil) } }
  }

  /// Does nothing.
  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool { false }

  /// Whether the old form has a content, rather than a null, or something that cannot be read: under a key of both forms
  /// these are the new one's.
  private var hasOldForm: Bool {
    do { return try !a.current.loadContent().isNil } catch { return false }
  }
}

extension EFStorageMigrate: Sendable where A: Sendable {}

private protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  /// Whether it is `nil`, or the optional in it is, to any depth.
  fileprivate var isNil: Bool {
    guard let self else { return true }
    return (self as? any AnyOptional)?.isNil ?? false
  }
}
