public import Foundation

/// Which properties of a ``MappableObject`` are parked, under which names, and which of them identifies the object.
///
/// Properties are named by key paths. By their names alone they cannot be reached: that takes the key-value coding of the
/// Objective-C runtime.
public final class ObjectMapping {
  /// A property, without its type.
  struct Property {
    /// The type that it is declared with.
    let type: Any.Type
    let read: (NSObject) -> Any?
    /// `nil` if it cannot be set.
    let write: ((NSObject, JSONValue, TreeDecoder) throws -> Void)?
  }

  let objectClass: AnyClass
  private(set) var properties: [String: Property] = [:]

  /// The name of the property that identifies the object: a `String`, a `UUID` or a `LosslessStringConvertible`, and one of
  /// those that are mapped.
  ///
  /// If it is `nil`, the object is part of the objects it is a property of, and as a root is identified by its content.
  public var identifyingAttribute: String?

  /// A mapping without properties.
  public init(for objectClass: AnyClass) {
    self.objectClass = objectClass
  }

  /// The same as ``init(for:)``.
  public static func mapping(for objectClass: AnyClass) -> ObjectMapping {
    ObjectMapping(for: objectClass)
  }

  /// Adds properties, each by the name it is stored under and its key path.
  ///
  /// Each has to be a variable whose type can be mapped, or parking throws ``GarageError/Code/invalidMapping``. Names that begin with "gs_" are the
  /// garage's own.
  public func addMappings<Root: NSObject>(_ dictionary: [String: PartialKeyPath<Root>]) {
    for (name, path) in dictionary { properties[name] = Self.property(path) }
  }

  /// Adds a property. The compiler checks that it is `Codable` and can be set.
  public func addMapping<Root: NSObject, Value: Codable>(_ name: String, _ path: ReferenceWritableKeyPath<Root, Value>)
  {
    properties[name] = Self.property(path)
  }

  private static func property<Root: NSObject>(_ path: PartialKeyPath<Root>) -> Property {
    func write<Value>(_ type: Value.Type) -> ((NSObject, JSONValue, TreeDecoder) throws -> Void)? {
      guard let path = path as? ReferenceWritableKeyPath<Root, Value>, MappedValue.isMappable(type) else { return nil }
      return { object, json, decoder in
        guard let root = object as? Root else { throw decoder.mismatch(Root.self) }
        guard let value = try MappedValue.value(type, json, decoder) as? Value else { throw decoder.mismatch(type) }
        root[keyPath: path] = value
      }
    }
    let type = Swift.type(of: path).valueType
    return Property(
      type: type,
      read: { object in (object as? Root).map { $0[keyPath: path] as Any } },
      write: _openExistential(type, do: write))
  }
}
