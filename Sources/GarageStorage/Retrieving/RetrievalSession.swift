import Foundation
import Platform

/// One retrieval: creates objects from a single snapshot, each once.
final class RetrievalSession {
  /// An object under construction, and the properties that led to it from the previous one.
  private struct Frame {
    let key: ObjectKey
    let path: [any CodingKey]
  }

  let source: ObjectSource
  let view: GarageView
  /// Objects that live on, for references resolved later.
  let identities: IdentityMap
  let dates: JSONDecoder.DateDecodingStrategy?
  private let longestChain: Int
  private var made: [ObjectKey: Any] = [:]
  private var frames: [Frame] = []
  private var open: Set<ObjectKey> = []
  /// Nesting depth in the current object.
  private var depth = 0
  /// Total depth, including enclosing objects.
  private var levels = 0
  /// The last record read, which is often requested twice.
  private var last: (key: ObjectKey, record: StoredRecord)?

  init(
    _ source: ObjectSource, _ view: GarageView, dates: JSONDecoder.DateDecodingStrategy?,
    identities: IdentityMap = IdentityMap(), longestChain: Int = Nesting.longestChain
  ) {
    self.source = source
    self.view = view
    self.dates = dates
    self.identities = identities
    self.longestChain = longestChain
  }

  // MARK: - Objects

  func root<T: Decodable>(_ type: T.Type, _ key: ObjectKey) throws -> T? {
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { return nil }
    return try make(type, key, record, from: [])
  }

  func object<T: Decodable>(_ type: T.Type, _ key: ObjectKey, _ record: StoredRecord) throws -> T {
    if let object = made(key) { return try cast(object, key) }
    return try make(type, key, record, from: [])
  }

  private func make<T: Decodable>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey]
  ) throws -> T {
    try make(key, record, from: path) { json in
      let value = try self.inPlace(type, json, [])
      guard var syncable = value as? any Syncable else { return value }
      syncable.syncStatus = record.status
      return try self.cast(syncable, key)
    }
  }

  /// Runs `body` with a record's JSON while its object is under construction, and records the result.
  func make<Value>(
    _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey], _ body: (JSONValue) throws -> Value
  ) throws -> Value {
    let frame = Frame(key: key, path: path)
    guard !open.contains(key) else {
      let start = frames.firstIndex { $0.key == key } ?? 0
      throw GarageError.cycle(path: text(of: frames[start...] + [frame]))
    }
    guard frames.count < longestChain else {
      throw GarageError.chainTooLong(path: text(of: frames[...] + [frame]), limit: longestChain)
    }
    frames.append(frame)
    open.insert(key)
    let outerDepth = depth
    depth = 0
    defer {
      frames.removeLast()
      open.remove(key)
      depth = outerDepth
    }
    let json = try source.json(of: record, key)
    let value: Value
    do {
      value = try body(json)
    } catch let error as DecodingError {
      throw error.naming(key.label)
    }
    guard type(of: value) is AnyClass else {
      made[key] = value
      return value
    }
    // Another thread that resolved a reference may have created it; that object wins.
    let object = identities.insert(value as AnyObject, key)
    made[key] = object
    return try cast(object, key)
  }

  /// The object that JSON refers to, of `type` or a subclass.
  private func referenced<T: Decodable>(
    _ type: T.Type, _ reference: ObjectReference, _ path: [any CodingKey]
  ) throws -> T {
    let key = ObjectKey(reference)
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

  /// The object of a reference outside any retrieval.
  func resolve<T: Decodable>(_ type: T.Type, _ reference: ObjectReference) throws -> T {
    guard try isThere(reference) else {
      throw GarageError.failedToRetrieveObject(ObjectKey.shortName(ofType: reference.type), reference.identifier)
    }
    return try referenced(type, reference, [])
  }

  private func makeOther<T: Decodable>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, _ path: [any CodingKey]
  ) throws -> Any {
    try make(type, key, record, from: path)
  }

  func isThere(_ reference: ObjectReference) throws -> Bool {
    try isThere(ObjectKey(reference))
  }

  func isThere(_ key: ObjectKey) throws -> Bool {
    try made(key) != nil || record(key) != nil
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
      let text = "It was made as \(type(of: object)), not as \(T.self)"
      throw DecodingError.typeMismatch(T.self, .init(codingPath: [], debugDescription: text)).naming(key.label)
    }
    return object
  }

  // MARK: - Values

  /// A nested value, from its JSON or the object it refers to.
  func decode<T: Decodable>(_ type: T.Type, from json: JSONValue, at path: [any CodingKey]) throws -> T {
    if let reference = json.reference {
      if Self.pointsToObjects(type) { return try referenced(type, reference, path) }
      // An optional that points to a deleted object is nil.
      if let optional = type as? any OptionalValue.Type, try isMissing(optional.innermostType, json) {
        return try inPlace(type, .null, path)
      }
    }
    return try inPlace(type, json, path)
  }

  /// Whether JSON references for this type mean parked objects. A class without an identifier may have identified
  /// subclasses.
  static func pointsToObjects(_ type: Any.Type) -> Bool { TypeIdentity.of(type).isIdentified || type is AnyClass }

  func isMissing(_ type: Any.Type, _ json: JSONValue) throws -> Bool {
    guard let reference = json.reference, Self.pointsToObjects(type) else { return false }
    return try !isThere(reference)
  }

  private func inPlace<T: Decodable>(_ type: T.Type, _ json: JSONValue, _ path: [any CodingKey]) throws -> T {
    let decoder = TreeDecoder(self, json, path)
    if let value = try decoder.standard(type) { return value }
    let value = try nest(path) {
      if T.self == Date.self, let date = try date(decoder) as? T { return date }
      return try T(from: decoder)
    }
    return json.nestedStatus.flatMap { Self.with($0, value) } ?? value
  }

  /// The value with a sync status set; `nil` if it is not ``Syncable``.
  static func with<T>(_ status: SyncStatus, _ value: T) -> T? {
    guard var syncable = value as? any Syncable else { return nil }
    syncable.syncStatus = status
    return syncable as? T
  }

  /// Enters a nested value, on another stack if this one could overflow.
  func nest<Value>(_ path: [any CodingKey], _ body: () throws -> Value) throws -> Value {
    guard depth < Nesting.decodingLimit else {
      throw GarageError.nestedTooDeeply(path: place(path), limit: Nesting.decodingLimit)
    }
    depth += 1
    levels += 1
    defer {
      depth -= 1
      levels -= 1
    }
    guard RoomyStack.isDue(at: levels) else { return try body() }
    return try RoomyStack.run(body)
  }

  // MARK: - Messages

  func missing(_ reference: ObjectReference, _ path: [any CodingKey]) -> DecodingError {
    let type = ObjectKey.shortName(ofType: reference.type)
    return .missingReference(
      GarageError.missingReference(type, reference.identifier, path: place(path)), at: path)
  }

  private func place(_ path: [any CodingKey]) -> String { (frames.last?.key.label ?? "") + CodingPath.text(of: path) }

  /// Shows only the first and last of many.
  private func text(of frames: ArraySlice<Frame>) -> String {
    func text(_ frames: ArraySlice<Frame>) -> String {
      frames.map { "\(CodingPath.text(of: $0.path)) → \($0.key.label)" }.joined()
    }
    let first = frames.first?.key.label ?? ""
    let rest = frames.dropFirst()
    guard rest.count > 16 else { return first + text(rest) }
    return "\(first)\(text(rest.prefix(8))) → (\(rest.count - 16) more)\(text(rest.suffix(8)))"
  }
}
