public import Foundation
import Platform

/// The parked properties of a ``MappableObject`` with their stored names, and its identifying property.
///
/// Properties are given by key paths, because access by name requires the Objective-C runtime.
public final class ObjectMapping {
  struct Property {
    let type: Any.Type
    let read: (NSObject) -> Any?
    /// `nil` if it cannot be set.
    let write: ((NSObject, JSONValue, TreeDecoder) throws -> Void)?
  }

  let objectClass: AnyClass
  private(set) var properties: [String: Property] = [:]

  /// The mapped property that identifies the object: a `String`, a `UUID` or a `LosslessStringConvertible`.
  ///
  /// If `nil`, the object is stored inside its owners, and as a root is identified by its content.
  public var identifyingAttribute: String?

  /// A mapping without properties.
  public init(for objectClass: AnyClass) {
    self.objectClass = objectClass
  }

  /// Creates a mapping without properties, like ``init(for:)``.
  public static func mapping(for objectClass: AnyClass) -> ObjectMapping {
    ObjectMapping(for: objectClass)
  }

  /// Adds properties by stored name and key path.
  ///
  /// Each must be a variable of a mappable type, or parking throws ``GarageError/Code/invalidMapping``. Names that
  /// begin with "gs_" are reserved.
  public func addMappings<Root: NSObject>(_ dictionary: [String: PartialKeyPath<Root>]) {
    for (name, path) in dictionary { properties[name] = Self.property(path) }
  }

  /// Adds a property that the compiler knows to be `Codable` and settable.
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
