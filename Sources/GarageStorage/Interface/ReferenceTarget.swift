/// The type of a ``Reference`` property: an optional or an array of `Codable & Identifiable` objects.
public protocol ReferenceTarget {
  associatedtype Object: Codable & Identifiable

  /// Creates a value that holds these objects.
  init(referenced objects: [Object])

  /// The objects in the value.
  var referencedObjects: [Object] { get }

  /// Whether it is stored as an array.
  static var holdsSeveral: Bool { get }
}

extension Optional: ReferenceTarget where Wrapped: Codable & Identifiable {
  public init(referenced objects: [Wrapped]) { self = objects.first }
  public var referencedObjects: [Wrapped] { map { [$0] } ?? [] }
  public static var holdsSeveral: Bool { false }
}

extension Array: ReferenceTarget where Element: Codable & Identifiable {
  public init(referenced objects: [Element]) { self = objects }
  public var referencedObjects: [Element] { self }
  public static var holdsSeveral: Bool { true }
}
