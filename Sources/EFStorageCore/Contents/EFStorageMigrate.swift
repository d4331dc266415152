/// Converts a content of another type. Setting a content does nothing; `nil` removes the old form.
///
/// Use it as the second part of a composition, which finds the old form and writes the new one. A removed content does
/// not reappear in its old form. An unreadable old form stays: if both forms share a key it may be the new one.
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

  /// Removes the old form if the content is `nil`; otherwise does nothing.
  public func storeContent(_ content: Content?) throws {
    if content.isNil && hasOldForm { try a.change { try $0.storeContent(nil) } }
  }

  /// Does nothing.
  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool { false }

  /// Whether the old form has a content. A null or an unreadable object under a shared key belongs to the new form.
  private var hasOldForm: Bool {
    do { return try !a.current.loadContent().isNil } catch { return false }
  }
}

extension EFStorageMigrate: Sendable where A: Sendable {}

private protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  fileprivate var isNil: Bool {
    guard let self else { return true }
    return (self as? any AnyOptional)?.isNil ?? false
  }
}
