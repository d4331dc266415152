extension RetrievalSession {
  /// The mapped object under a key; nil: there is none.
  func root<T: MappableObject>(mapped type: T.Type, _ key: ObjectKey) throws -> T? {
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { return nil }
    return try object(mapped: type, key, record)
  }

  /// The mapped object of a record that was read already.
  func object<T: MappableObject>(
    mapped type: T.Type, _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey] = []
  ) throws -> T {
    if let object = made(key) { return try cast(object, key) }
    return try make(key, record, from: path) { json in
      let object = try self.properties(type, TreeDecoder(self, json, []))
      if var syncable = object as? any Syncable { syncable.syncStatus = record.status }
      return object
    }
  }

  /// A mapped object that is nested in another one.
  func mapped<T: MappableObject>(_ type: T.Type, _ json: JSONValue, _ decoder: TreeDecoder) throws -> Any {
    try nest(decoder.codingPath) {
      guard let reference = json.reference else { return try properties(type, decoder) }
      guard let key = try find(reference), let record = try record(key) else {
        throw missing(reference, decoder.codingPath)
      }
      if let object = made(key) { return object }
      let name = TypeIdentity.of(type).name
      guard key.type != name else { return try object(mapped: type, key, record, from: decoder.codingPath) }
      guard let other = TypeIdentity.type(named: key.type) as? any MappableObject.Type, other is T.Type else {
        throw decoder.corrupted("There is \(key.type) in place of \(name)")
      }
      return try makeOther(other, key, record, decoder.codingPath)
    }
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
