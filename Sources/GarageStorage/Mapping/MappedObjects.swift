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
    guard let identifier = mapping.properties[attribute]?.read(object).flatMap(TypeIdentity.text) else {
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

extension RetrievalSession {
  func root<T: MappableObject>(mapped type: T.Type, _ key: ObjectKey) throws -> T? {
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { return nil }
    return try object(mapped: type, key, record)
  }

  func object<T: MappableObject>(
    mapped type: T.Type, _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey] = []
  ) throws -> T {
    if let object = made(key) { return try cast(object, key) }
    return try make(key, record, from: path) { json in
      let object = try self.properties(type, TreeDecoder(self, json, []))
      return Self.with(record.status, object) ?? object
    }
  }

  func mapped<T: MappableObject>(_ type: T.Type, _ json: JSONValue, _ decoder: TreeDecoder) throws -> Any {
    try nest(decoder.codingPath) {
      if let reference = json.reference { return try referenced(mapped: type, reference, decoder) }
      guard let name = json.nestedType else { return try inPlace(mapped: type, decoder) }
      return try inPlace(mapped: try subclass(name, of: type, decoder), decoder)
    }
  }

  private func inPlace<T: MappableObject>(mapped type: T.Type, _ decoder: TreeDecoder) throws -> Any {
    let object = try properties(type, decoder)
    return decoder.json.nestedStatus.flatMap { Self.with($0, object) } ?? object
  }

  private func referenced<T: MappableObject>(
    mapped type: T.Type, _ key: ObjectKey, _ decoder: TreeDecoder
  ) throws -> Any {
    if let object = made(key) {
      // Created for another property, whose declared class may differ.
      guard object is T else { throw wrongClass(key.type, type, decoder) }
      return object
    }
    guard let record = try record(key) else { throw missing(key, decoder.codingPath) }
    guard key.type != TypeIdentity.of(type).name else {
      return try object(mapped: type, key, record, from: decoder.codingPath)
    }
    return try object(
      mapped: try subclass(key.type, of: type, decoder), key, record, from: decoder.codingPath)
  }

  /// The class with a stored name, which a property of `type` must be able to hold.
  private func subclass<T: MappableObject>(
    _ name: String, of type: T.Type, _ decoder: TreeDecoder
  ) throws -> any MappableObject.Type {
    guard let other = TypeIdentity.type(named: name) as? any MappableObject.Type, other is T.Type else {
      throw wrongClass(name, type, decoder)
    }
    return other
  }

  private func wrongClass(_ name: String, _ type: Any.Type, _ decoder: TreeDecoder) -> DecodingError {
    decoder.corrupted(
      "There is an object of the class \(name) in place of \(TypeIdentity.of(type).name); the program has no such class, "
        + "or not as a subclass")
  }

  private func properties<T: MappableObject>(_ type: T.Type, _ decoder: TreeDecoder) throws -> T {
    guard case .object(let members) = decoder.json else { throw decoder.mismatch(type) }
    let mapping = try ObjectMapping.checked(type)
    let object = type.init()
    for (name, property) in mapping.properties {
      guard let json = members[name], let write = property.write else { continue }
      try write(object, json, decoder.nested(json, NameKey(name)))
    }
    return object
  }
}
