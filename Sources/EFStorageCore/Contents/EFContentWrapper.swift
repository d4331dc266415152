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
