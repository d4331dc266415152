protocol OptionalValue {
  /// The type wrapped in nested optionals.
  static var innermostType: Any.Type { get }
}

extension Optional: OptionalValue {
  static var innermostType: Any.Type { (Wrapped.self as? any OptionalValue.Type)?.innermostType ?? Wrapped.self }
}
