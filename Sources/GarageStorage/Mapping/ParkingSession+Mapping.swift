extension ParkingSession {
  /// Encodes a mapped object that is nested in another one: in place, or as a reference if it has an identifier.
  func encode(mapped object: any MappableObject, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    guard type(of: object).objectMapping.identifyingAttribute != nil else {
      return try encodeProperties(of: object, into: slot, at: path)
    }
    let key = try garage.key(of: object)
    slot.content = .value(.reference(to: key))
    wait(key, (object as? any Syncable)?.syncStatus) { try $0.encodeProperties(of: object, into: $1, at: []) }
  }

  func encodeProperties(of object: any MappableObject, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    let mapping = try ObjectMapping.checked(type(of: object))
    slot.becomeObject()
    try nest(object, path) {
      for (name, property) in mapping.properties {
        guard let value = property.read(object) else { continue }
        try encode(any: value, into: slot.member(name), at: path + [NameKey(name)])
      }
    }
  }

  private func encode(any value: Any, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    switch value {
    case let object as any MappableObject where !(type(of: value) is any MappedContainer.Type):
      try encode(mapped: object, into: slot, at: path)
    case let container as any MappedContainer:
      try nest(nil, path) {
        try container.encodeMapped(into: slot) { element, slot, key in
          try encode(any: element, into: slot, at: key.map { path + [$0] } ?? path)
        }
      }
    case let encodable as any Encodable: try encode(encodable, into: slot, at: path)
    default:
      throw GarageError.invalidMapping(
        "\(type(of: value))", "It is neither Codable nor a MappableObject. Leave it out, or make it one of them.")
    }
  }
}
