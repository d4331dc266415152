import Foundation
import Platform

extension ParkingSession {
  func add(mapped root: any MappableObject) throws {
    add(try Self.key(ofMapped: root), (root as? any Syncable)?.syncStatus) { session, slot in
      try session.encodeProperties(of: root, into: slot, at: [])
    }
  }

  /// A mapped object's key: its identifying attribute, or a digest of its content.
  static func key(ofMapped object: any MappableObject) throws -> ObjectKey {
    let mapping = try ObjectMapping.checked(type(of: object))
    let identity = TypeIdentity.of(type(of: object))
    guard let attribute = mapping.identifyingAttribute else {
      return try digestKey(identity) { try $0.encodeProperties(of: object, into: $1, at: []) }
    }
    let value = mapping.properties[attribute]?.read(object)
    let identifier: String? =
      switch value {
      case let text as String: text
      case let uuid as UUID: uuid.uuidString
      case let convertible as any LosslessStringConvertible: String(convertible)
      default: nil
      }
    guard let identifier else {
      throw GarageError.invalidMapping(
        identity.shortName, "The identifyingAttribute \"\(attribute)\" of an object is nil. Set it before parking.")
    }
    return ObjectKey(identity, identifier)
  }

  /// Encodes a nested mapped object in place, or as a reference if it has an identifier.
  ///
  /// - Parameter declared: The declared type of its property or container.
  private func encode(
    mapped object: any MappableObject, declared: Any.Type, into slot: EncodingSlot, at path: [any CodingKey]
  ) throws {
    let type = type(of: object)
    guard type.objectMapping.identifyingAttribute == nil else {
      let key = try Self.key(ofMapped: object)
      slot.set(.reference(to: key))
      return try wait(key, (object as? any Syncable)?.syncStatus) {
        try $0.encodeProperties(of: object, into: $1, at: [])
      }
    }
    try encodeProperties(of: object, into: slot, at: path)
    // Store the name of a subclass, or it would be read as the declared class.
    if type != declared {
      let member = JSONValue.nestedType(TypeIdentity.of(type))
      slot.newMember(member.name).set(member.value)
    }
    keepStatus(of: object, in: slot)
  }

  func encodeProperties(of object: any MappableObject, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    let mapping = try ObjectMapping.checked(type(of: object))
    slot.becomeObject()
    try nest(object, path) {
      for (name, property) in mapping.properties {
        guard let value = property.read(object) else { continue }
        try encode(any: value, declared: property.type, into: slot.newMember(name), at: path + [NameKey(name)])
      }
    }
  }

  private func encode(any value: Any, declared: Any.Type, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    switch value {
    case let object as any MappableObject where !(type(of: value) is any MappedContainer.Type):
      try encode(mapped: object, declared: declared, into: slot, at: path)
    case let container as any MappedContainer:
      try nest(nil, path) {
        let declared = type(of: container).elementType
        try container.encodeMapped(into: slot) { element, slot, key in
          try encode(any: element, declared: declared, into: slot, at: key.map { path + [$0] } ?? path)
        }
      }
    case let encodable as any Encodable: try encode(encodable, into: slot, at: path)
    default:
      throw GarageError.invalidMapping(
        "\(type(of: value))", "It is neither Codable nor a MappableObject. Leave it out, or make it one of them.")
    }
  }
}
