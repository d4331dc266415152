/// An optional of any type.
protocol OptionalValue {
  /// What is wrapped, through optionals of optionals.
  static var innermostType: Any.Type { get }
}

extension Optional: OptionalValue {
  static var innermostType: Any.Type { (Wrapped.self as? any OptionalValue.Type)?.innermostType ?? Wrapped.self }
}
