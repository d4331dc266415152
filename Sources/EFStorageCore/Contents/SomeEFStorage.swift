/// A property wrapper over any ``EFStorage``, such as what `+` makes:
///
/// ```swift
/// @SomeEFStorage(
///   EFStorageUserDefaults(wrappedValue: 14, forKey: "fontSize")
///     + EFStorageUserDefaults(wrappedValue: 14, forKey: "textSize"))
/// var fontSize: Int
/// ```
@propertyWrapper
public class SomeEFStorage<Storage: EFStorage, Content>: EFStorage where Storage.Content == Content {
  private var storage: Storage

  public init(_ storage: Storage) { self.storage = storage }

  public var wrappedValue: Content {
    get { storage.wrappedValue }
    set { storage.wrappedValue = newValue }
  }

  public var content: Content? {
    get { storage.content }
    set { storage.content = newValue }
  }

  public func loadContent() throws -> Content? { try storage.loadContent() }

  public func storeContent(_ content: Content?) throws { try storage.storeContent(content) }
}
