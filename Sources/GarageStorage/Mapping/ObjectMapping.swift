public import Foundation
import Platform

/// An object parked by a mapping of its properties, without `Codable`.
///
/// ```swift
/// class Person: NSObject, MappableObject {
///   var name = ""
///   var ssn = ""
///   required override init() {}
///   class var objectMapping: ObjectMapping {
///     let mapping = ObjectMapping(for: Person.self)
///     mapping.addMappings(["name": \Person.name, "ssn": \Person.ssn])
///     mapping.identifyingAttribute = "ssn"
///     return mapping
///   }
/// }
/// ```
///
/// A mapped property is `Codable`, a `MappableObject`, or an optional, an array, or a dictionary with `String` keys of
/// these. Two mapped objects cannot be plain properties of each other: retrieving them is a ``GarageError/Code/cycle``.
///
/// An object without an identifying attribute is stored inside its owner, with its class and sync status. Reading it
/// requires finding its class by name, see <doc:ComingFromGarageStorage>.
public protocol MappableObject: NSObject {
  /// The properties to park.
  static var objectMapping: ObjectMapping { get }

  /// Creates the object before its properties are set.
  init()
}

/// A ``MappableObject`` whose sync status the garage stores, like ``Syncable``.
public protocol SyncableObject: NSObjectProtocol, Syncable {
  var syncStatus: SyncStatus { get set }
}

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
  public init(for objectClass: AnyClass) { self.objectClass = objectClass }

  /// Creates a mapping without properties, like ``init(for:)``.
  public static func mapping(for objectClass: AnyClass) -> ObjectMapping { ObjectMapping(for: objectClass) }

  /// Adds properties by stored name and key path. Parking throws ``GarageError/Code/invalidMapping`` if one is no
  /// variable of a mappable type, or a name begins with "gs_".
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

extension ObjectMapping {
  /// The mapping of a class, validated.
  static func checked(_ type: any MappableObject.Type) throws(GarageError) -> ObjectMapping {
    let mapping = type.objectMapping
    let name = String(describing: type)
    if let attribute = mapping.identifyingAttribute, mapping.properties[attribute] == nil {
      throw .invalidMapping(name, "The identifyingAttribute \"\(attribute)\" is not among the mappings. Add it.")
    }
    if let reserved = mapping.properties.keys.sorted().first(where: { $0.hasPrefix(JSONValue.reservedPrefix) }) {
      throw .invalidMapping(
        name, "Names that begin with \"\(JSONValue.reservedPrefix)\" are the garage's own. Rename \"\(reserved)\".")
    }
    for (attribute, property) in mapping.properties where property.write == nil {
      throw .invalidMapping(
        name,
        """
        "\(attribute)" is not a variable, or its type is neither Codable nor a MappableObject nor an optional, an array or \
        a dictionary with String keys of these. Map another property.
        """)
    }
    return mapping
  }
}

/// Values of mapped properties, whose types are known only at run time.
enum MappedValue {
  static func isMappable(_ type: Any.Type) -> Bool {
    if type is any MappableObject.Type || type is any Codable.Type { return true }
    return (type as? any MappedContainer.Type).map { isMappable($0.elementType) } ?? false
  }

  static func value(_ type: Any.Type, _ json: JSONValue, _ decoder: TreeDecoder) throws -> Any {
    if let type = type as? any MappableObject.Type {
      return try decoder.session.mapped(type, json, decoder)
    }
    if let type = type as? any MappedContainer.Type {
      return try decoder.session.nest(decoder.codingPath) { try type.decodeMapped(json, decoder) }
    }
    guard let type = type as? any Decodable.Type else { throw decoder.mismatch(type) }
    return try decoder.session.decode(type, from: json, at: decoder.codingPath)
  }
}

/// An optional, array or dictionary whose elements may be mapped objects. It encodes into a new slot.
protocol MappedContainer {
  static var elementType: Any.Type { get }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> Self
}

extension Optional: MappedContainer {
  static var elementType: Any.Type { Wrapped.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    guard let self else { return slot.set(.null) }
    try encode(self, slot, nil)
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> Wrapped? {
    // As for optional properties of Codable types, a deleted object is nil.
    if try json == .null || decoder.session.isMissing(Wrapped.self, json) { return nil }
    guard let value = try MappedValue.value(Wrapped.self, json, decoder) as? Wrapped else {
      throw decoder.mismatch(Wrapped.self)
    }
    return value
  }
}

extension Array: MappedContainer {
  static var elementType: Any.Type { Element.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    slot.becomeArray()
    for (index, element) in enumerated() { try encode(element, slot.element(), IndexKey(index)) }
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> [Element] {
    guard case .array(let elements) = json else { throw decoder.mismatch(Self.self) }
    return try elements.enumerated().map { index, json in
      let place = decoder.nested(json, IndexKey(index))
      guard let element = try MappedValue.value(Element.self, json, place) as? Element else {
        throw place.mismatch(Element.self)
      }
      return element
    }
  }
}

extension Dictionary: MappedContainer where Key == String {
  static var elementType: Any.Type { Value.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    slot.becomeObject()
    for (key, value) in self { try encode(value, slot.newMember(key), NameKey(key)) }
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> [String: Value] {
    guard case .object(let members) = json else { throw decoder.mismatch(Self.self) }
    return try Dictionary(
      uniqueKeysWithValues: members.map { key, json in
        let place = decoder.nested(json, NameKey(key))
        guard let value = try MappedValue.value(Value.self, json, place) as? Value else {
          throw place.mismatch(Value.self)
        }
        return (key, value)
      })
  }
}
