/// A type with a value or none: `Optional`.
public protocol Nullable: ExpressibleByNilLiteral {
  associatedtype UnderlyingType

  var wrappedValue: UnderlyingType? { get }

  init(_ some: UnderlyingType)
}

extension Optional: Nullable {
  public var wrappedValue: Wrapped? { self }
}
