/// A content of another type, turned into this one. To be read only: setting it does nothing.
///
/// It is the second part of a composition: what is stored in the old form is found, and what is set is stored in the
/// new form.
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
  public typealias Migrator = (OldContent) -> Content

  private let a: A
  private let migrator: Migrator

  public init(from a: A, by migrator: @escaping Migrator) {
    self.a = a
    self.migrator = migrator
  }

  public var wrappedValue: Content {
    get { content ?? migrator(a.wrappedValue) }
    // The old form is left as it is.
    nonmutating set {}
  }

  public var content: Content? {
    get { a.content.map(migrator) }
    nonmutating set {}
  }

  public func loadContent() throws -> Content? { try a.loadContent().map(migrator) }

  /// Does nothing.
  public func storeContent(_ content: Content?) throws {}
}
