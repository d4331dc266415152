import Foundation

/// One retrieval: makes objects from what is stored at one moment, each object once.
final class RetrievalSession {
  /// An object that is being made, and the properties that led to it from the one before.
  private struct Frame {
    let key: ObjectKey
    let path: String
  }

  let garage: Garage
  let view: GarageView
  /// The objects that live on from here, for references that are resolved later.
  let identities: IdentityMap
  /// Nil: the garage's own forms.
  private let dates: JSONDecoder.DateDecodingStrategy?
  private var made: [ObjectKey: Any] = [:]
  private var frames: [Frame] = []
  private var depth = 0
  /// The record that was looked up last, which is often asked for twice.
  private var last: (key: ObjectKey, record: StoredRecord)?

  init(
    _ garage: Garage, _ view: GarageView, dates: JSONDecoder.DateDecodingStrategy?,
    identities: IdentityMap = IdentityMap()
  ) {
    self.garage = garage
    self.view = view
    self.dates = dates
    self.identities = identities
  }

  // MARK: - Objects

  /// The object under a key; nil: there is none.
  func root<T: Decodable>(_ type: T.Type, _ key: ObjectKey) throws -> T? {
    if let object = made[key] ?? identities[key] { return try cast(object, key) }
    guard let record = try record(key) else { return nil }
    return try make(type, key, record, from: [])
  }

  /// The object of a record that was read already.
  func object<T: Decodable>(_ type: T.Type, _ key: ObjectKey, _ record: StoredRecord) throws -> T {
    if let object = made[key] ?? identities[key] { return try cast(object, key) }
    return try make(type, key, record, from: [])
  }

  private func make<T: Decodable>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey]
  ) throws -> T {
    try make(key, record, from: path) { json in
      var value = try self.inPlace(type, json, [])
      if var syncable = value as? any Syncable {
        syncable.syncStatus = record.status
        value = try self.cast(syncable, key)
      }
      return value
    }
  }

  /// Runs `body` with the JSON of a record, as what is being made, and remembers what it makes.
  func make<Value>(
    _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey], _ body: (JSONValue) throws -> Value
  ) throws -> Value {
    let frame = Frame(key: key, path: CodingPath.text(of: path))
    if let start = frames.firstIndex(where: { $0.key == key }) {
      throw GarageError.cycle(path: text(of: frames[start...] + [frame]))
    }
    frames.append(frame)
    defer { frames.removeLast() }
    let json = try garage.json(of: record, key)
    let value: Value
    do {
      value = try body(json)
    } catch let error as DecodingError {
      throw GarageError.undecodable(ObjectKey.shortName(ofType: key.type), key.identifier, error)
    }
    made[key] = value
    // The same object may have been made by another thread that resolves a reference.
    return type(of: value) is AnyClass ? try cast(identities.insert(value as AnyObject, key), key) : value
  }

  /// The object that JSON refers to, of `type` or a subclass of it.
  private func referenced<T: Decodable>(
    _ type: T.Type, _ reference: (type: String, identifier: String), _ path: [any CodingKey]
  ) throws -> T {
    guard let key = try find(reference) else { throw missing(reference, path) }
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { throw missing(reference, path) }
    let identity = TypeIdentity.of(type)
    if key.type == identity.name { return try make(type, key, record, from: path) }
    guard let other = TypeIdentity.type(named: key.type) as? any Decodable.Type, other is T.Type else {
      throw DecodingError.typeMismatch(
        type, .init(codingPath: path, debugDescription: "There is \(key.type) in place of \(identity.name)"))
    }
    return try cast(try makeOther(other, key, record, path), key)
  }

  /// The object that a reference outside any object leads to.
  func resolve<T: Decodable>(_ type: T.Type, _ reference: (type: String, identifier: String)) throws -> T {
    guard try find(reference) != nil else {
      throw GarageError.failedToRetrieveObject(ObjectKey.shortName(ofType: reference.type), reference.identifier)
    }
    return try referenced(type, reference, [])
  }

  private func makeOther<T: Decodable>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, _ path: [any CodingKey]
  ) throws -> Any {
    try make(type, key, record, from: path)
  }

  /// The key of what is referred to, under the name its type has now; nil: it is not there.
  func find(_ reference: (type: String, identifier: String)) throws -> ObjectKey? {
    var name = reference.type
    // Names that lead to each other in a circle can only come from damage.
    for _ in 0..<64 {
      let key = ObjectKey(type: name, identifier: reference.identifier)
      if try made(key) != nil || record(key) != nil { return key }
      guard let next = try view.alias(ofType: name) else { return nil }
      name = next
    }
    return nil
  }

  func missing(_ reference: (type: String, identifier: String), _ path: [any CodingKey]) -> GarageError {
    .missingReference(
      ObjectKey.shortName(ofType: reference.type), reference.identifier,
      path: (frames.last?.key.label ?? "") + CodingPath.text(of: path))
  }

  func record(_ key: ObjectKey) throws -> StoredRecord? {
    if let last, last.key == key { return last.record }
    guard let record = try view.record(key) else { return nil }
    last = (key, record)
    return record
  }

  func made(_ key: ObjectKey) -> Any? { made[key] ?? identities[key] }

  func cast<T>(_ object: Any, _ key: ObjectKey) throws -> T {
    guard let object = object as? T else {
      throw GarageError.undecodable(
        ObjectKey.shortName(ofType: key.type), key.identifier,
        DecodingError.typeMismatch(
          T.self, .init(codingPath: [], debugDescription: "It was made as \(type(of: object)), not as \(T.self)")))
    }
    return object
  }

  private func text(of frames: ArraySlice<Frame>) -> String {
    frames.enumerated().map { index, frame in
      index == 0 ? frame.key.label : "\(frame.path) → \(frame.key.label)"
    }.joined()
  }

  // MARK: - Values

  /// A value that is nested in another one: from its JSON, or the object that this refers to.
  func decode<T: Decodable>(_ type: T.Type, from json: JSONValue, at path: [any CodingKey]) throws -> T {
    // A class that has no identifier may have subclasses that do.
    if let reference = json.reference, TypeIdentity.of(type).isIdentified || T.self is AnyClass {
      return try referenced(type, reference, path)
    }
    return try inPlace(type, json, path)
  }

  /// Whether JSON refers to an object that is not there.
  func isMissing<T: Decodable>(_ type: T.Type, _ json: JSONValue) throws -> Bool {
    guard let reference = json.reference, TypeIdentity.of(type).isIdentified || T.self is AnyClass else { return false }
    return try find(reference) == nil
  }

  private func inPlace<T: Decodable>(_ type: T.Type, _ json: JSONValue, _ path: [any CodingKey]) throws -> T {
    let decoder = TreeDecoder(self, json, path)
    if let value = try decoder.standard(type) { return value }
    return try nest(path) {
      if T.self == Date.self, let date = try date(decoder) as? T { return date }
      return try T(from: decoder)
    }
  }

  func nest<Value>(_ path: [any CodingKey], _ body: () throws -> Value) throws -> Value {
    guard depth < Nesting.limit else {
      let end = (frames.last?.key.label ?? "") + CodingPath.text(of: path)
      throw GarageError.nestedTooDeeply(path: frames.count > 1 ? "\(frames[0].key.label) → … → \(end)" : end)
    }
    depth += 1
    defer { depth -= 1 }
    return try body()
  }

  private func date(_ decoder: TreeDecoder) throws -> Date {
    guard let dates else { return try ISODate.decode(from: decoder) }
    switch dates {
    case .deferredToDate: return try Date(from: decoder)
    case .secondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self) / 1_000)
    case .iso8601:
      let text = try decoder.scalar(String.self)
      guard let date = ISODate.date(of: text) else { throw decoder.corrupted("\"\(text)\" is no date of ISO 8601") }
      return date
    // Elsewhere it is a custom one.
    #if canImport(Darwin)
      case .formatted(let formatter):
        let text = try decoder.scalar(String.self)
        guard let date = formatter.date(from: text) else {
          throw decoder.corrupted("\"\(text)\" has not the format of the date strategy")
        }
        return date
    #endif
    case .custom(let decode): return try decode(decoder)
    @unknown default: return try ISODate.decode(from: decoder)
    }
  }
}
