import Platform

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
    mapped type: T.Type, _ reference: ObjectReference, _ decoder: TreeDecoder
  ) throws -> Any {
    let key = ObjectKey(reference)
    if let object = made(key) {
      // Created for another property, whose declared class may differ.
      guard object is T else { throw wrongClass(key.type, type, decoder) }
      return object
    }
    guard let record = try record(key) else { throw missing(reference, decoder.codingPath) }
    guard key.type != TypeIdentity.of(type).name else {
      return try object(mapped: type, key, record, from: decoder.codingPath)
    }
    return try makeOther(try subclass(key.type, of: type, decoder), key, record, decoder.codingPath)
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

  private func makeOther<T: MappableObject>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, _ path: [any CodingKey]
  ) throws -> Any {
    try object(mapped: type, key, record, from: path)
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
