/// A place for one content, with a default. The property wrappers conform, and `+` composes places.
@dynamicMemberLookup
public protocol EFStorage: EFContentWrapper, EFOptionalContentWrapper {
  /// Stores a content unless the place has one, readable or not.
  ///
  /// The property wrappers of this package do so atomically, as
  /// ``EFSingleInstanceStorageReference/storeContentIfAbsent(_:)`` describes. By default it looks, and then stores.
  ///
  /// - Parameter makeContent: Called if the place is empty. If it returns `nil`, the place stays empty.
  /// - Returns: Whether the content was stored.
  mutating func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool
}

extension EFStorage {
  public mutating func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    guard isAbsent, let content = makeContent() else { return false }
    try storeContent(content)
    return true
  }
}

extension EFStorage {
  /// Combines two places; see ``EFStorageComposition``.
  public static func + <Other: EFStorage>(
    lhs: Self, rhs: Other
  ) -> EFStorageComposition<Self, Other, Content> where Other.Content == Content {
    EFStorageComposition(lhs, rhs)
  }
}

/// A place that always has a content.
@dynamicMemberLookup
public protocol EFContentWrapper {
  associatedtype Content

  /// The content, or a default if it is missing.
  var wrappedValue: Content { get set }

  subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value { get }
  subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value { get set }
}

extension EFContentWrapper {
  /// A member of the content.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value { wrappedValue[keyPath: keyPath] }

  /// A member of the content. Setting it reads and writes the whole content; concurrent changes may be lost.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    set { wrappedValue[keyPath: keyPath] = newValue }
  }
}

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
