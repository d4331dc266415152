/// A property wrapper over any ``EFStorage``, such as the result of `+`:
///
/// ```swift
/// @SomeEFStorage(
///   EFStorageUserDefaults(wrappedValue: 14, forKey: "fontSize")
///     + EFStorageUserDefaults(wrappedValue: 14, forKey: "textSize"))
/// var fontSize: Int
/// ```
///
/// Observers of failures may read and set the property.
@propertyWrapper
public class SomeEFStorage<Storage: EFStorage, Content>: EFStorage where Storage.Content == Content {
  private let place: Place<Storage>

  public init(_ storage: Storage) { place = Place(storage) }

  public var wrappedValue: Content {
    get { place.current.wrappedValue }
    set { place.change { $0.wrappedValue = newValue } }
  }

  public var content: Content? {
    get { place.current.content }
    set { place.change { $0.content = newValue } }
  }

  /// A member of the content. Setting it reads and writes the whole content; concurrent changes may be lost.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    set {
      var content = wrappedValue
      content[keyPath: keyPath] = newValue
      wrappedValue = content
    }
  }

  public func loadContent() throws -> Content? { try place.current.loadContent() }

  public func storeContent(_ content: Content?) throws { try place.change { try $0.storeContent(content) } }

  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    try place.change { try $0.storeContentIfAbsent(makeContent) }
  }
}

// Unchecked because classes may be subclassed; this one only holds a place.
extension SomeEFStorage: @unchecked Sendable where Storage: Sendable {}
