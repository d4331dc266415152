import Platform

/// Encodes a value into a slot. Nested values pass through the session, which extracts identified objects. A request
/// for another kind of container cannot throw, so the session records it and the parking fails.
final class TreeEncoder: Encoder {
  let session: ParkingSession
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ session: ParkingSession, _ slot: EncodingSlot, _ codingPath: [any CodingKey]) {
    self.session = session
    self.slot = slot
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedTreeEncoding(encoder: opened("an object") { $0.becomeObject() }))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    UnkeyedTreeEncoding(encoder: opened("an array") { $0.becomeArray() })
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleTreeEncoding(encoder: self) }

  func nested(_ slot: EncodingSlot, _ key: any CodingKey) -> TreeEncoder {
    TreeEncoder(session, slot, codingPath + [key])
  }

  /// This encoder, or one whose output is discarded if such a container is impossible here.
  private func opened(_ kind: String, _ become: (EncodingSlot) -> Bool) -> TreeEncoder {
    if slot.depth >= EncodingSlot.deepest {
      session.fail(.nestedTooDeeply(path: session.text(of: codingPath), limit: EncodingSlot.deepest))
    } else if become(slot) {
      return self
    } else {
      session.fail(conflict(kind))
    }
    let discarded = EncodingSlot()
    _ = become(discarded)
    return TreeEncoder(session, discarded, codingPath)
  }

  func conflict(_ kind: String) -> GarageError {
    .unencodable(
      session.text(of: []),
      EncodingError.invalidValue(
        kind, .init(codingPath: codingPath, debugDescription: "\(kind) is written where there is something already")))
  }
}

struct KeyedTreeEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func put(_ value: JSONValue, _ key: Key) { encoder.slot.newMember(key.stringValue).set(value) }

  func encodeNil(forKey key: Key) { put(.null, key) }
  @inline(__always)
  func encode<I: FixedWidthInteger & Encodable>(_ value: I, forKey key: Key) { put(.number(String(value)), key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try encoder.session.encode(value, into: encoder.slot.newMember(key.stringValue), at: codingPath + [key])
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nested(encoder.slot.member(key.stringValue), key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.nested(encoder.slot.member(key.stringValue), key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    encoder.nested(encoder.slot.member(NameKey.superclass.stringValue), NameKey.superclass)
  }

  func superEncoder(forKey key: Key) -> any Encoder { encoder.nested(encoder.slot.member(key.stringValue), key) }
}

struct UnkeyedTreeEncoding: UnkeyedEncodingContainer {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.slot.count }

  private func put(_ value: JSONValue) { encoder.slot.element().set(value) }

  func encodeNil() { put(.null) }
  func encode<I: FixedWidthInteger & Encodable>(_ value: I) { put(.number(String(value))) }

  func encode<T: Encodable>(_ value: T) throws {
    let key = IndexKey(count)
    try encoder.session.encode(value, into: encoder.slot.element(), at: codingPath + [key])
  }

  func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    next().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

  func superEncoder() -> any Encoder { next() }

  private func next() -> TreeEncoder {
    let key = IndexKey(count)
    return encoder.nested(encoder.slot.element(), key)
  }
}

struct SingleTreeEncoding: SingleValueEncodingContainer {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func put(_ value: JSONValue) {
    guard encoder.slot.isEmpty else { return encoder.session.fail(encoder.conflict("a value")) }
    encoder.slot.set(value)
  }

  func encodeNil() { put(.null) }
  func encode<I: FixedWidthInteger & Encodable>(_ value: I) { put(.number(String(value))) }

  func encode<T: Encodable>(_ value: T) throws {
    guard encoder.slot.isEmpty else { return encoder.session.fail(encoder.conflict("a value")) }
    try encoder.session.encode(value, into: encoder.slot, at: codingPath)
  }
}

/// A place in the JSON that an encoder builds.
final class EncodingSlot {
  private enum Content {
    case empty
    case value(JSONValue)
    case array([EncodingSlot])
    case object([String: EncodingSlot])
  }

  /// The encoder's nesting limit: two levels fewer than can be read, for a replacement of a value (a reference, a
  /// sorted set).
  static let deepest = JSONValue.deepest - 2

  private var content = Content.empty
  /// The number of enclosing arrays and objects.
  let depth: Int

  init(depth: Int = 0) { self.depth = depth }

  /// The finished JSON. An empty value is an empty object, like in `JSONEncoder`.
  var json: JSONValue {
    switch content {
    case .empty: .object([:])
    case .value(let value): value
    case .array(let elements): .array(elements.map(\.json))
    case .object(let members): .object(members.mapValues(\.json))
    }
  }

  var isEmpty: Bool { if case .empty = content { true } else { false } }
  var isObject: Bool { if case .object = content { true } else { false } }
  var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

  func set(_ value: JSONValue) { content = .value(value) }

  @discardableResult
  func becomeObject() -> Bool {
    if isEmpty { content = .object([:]) }
    return isObject
  }

  @discardableResult
  func becomeArray() -> Bool {
    if isEmpty { content = .array([]) }
    if case .array = content { return true }
    return false
  }

  /// A new slot for a member, replacing any present one. This must be an object.
  func newMember(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot(depth: depth + 1)
    if case .object(var members) = content {
      // Uniquely referenced, to be changed in place.
      content = .empty
      members[name] = slot
      content = .object(members)
    }
    return slot
  }

  /// The present or a new slot for a member: a repeated request for a container adds to it.
  func member(_ name: String) -> EncodingSlot {
    if case .object(let members) = content, let slot = members[name] { return slot }
    return newMember(name)
  }

  func hasMember(_ name: String) -> Bool {
    if case .object(let members) = content { members[name] != nil } else { false }
  }

  /// A slot for another element. This must be an array.
  func element() -> EncodingSlot {
    let slot = EncodingSlot(depth: depth + 1)
    if case .array(var elements) = content {
      content = .empty
      elements.append(slot)
      content = .array(elements)
    }
    return slot
  }
}

/// Values whose element order depends on the process. Stored in sorted order, so that equal values have equal JSON.
protocol Unordered {
  func encode(into slot: EncodingSlot, with encoder: TreeEncoder) throws
}

extension Set: Unordered where Element: Encodable {
  func encode(into slot: EncodingSlot, with encoder: TreeEncoder) throws {
    let elements = try enumerated().map { index, element in
      let place = EncodingSlot(depth: slot.depth + 1)
      try encoder.session.encode(element, into: place, at: encoder.codingPath + [IndexKey(index)])
      return place.json
    }
    slot.set(.array(elements.sortedByText()))
  }
}

extension Dictionary: Unordered where Key: Encodable, Value: Encodable {
  func encode(into slot: EncodingSlot, with encoder: TreeEncoder) throws {
    // Other dictionaries encode themselves as objects, whose members are always sorted.
    guard Key.self != String.self, Key.self != Int.self, !(Key.self is any CodingKeyRepresentable.Type) else {
      return try encode(to: encoder)
    }
    let pairs = try enumerated().map { index, pair in
      let key = EncodingSlot(depth: slot.depth + 1)
      let value = EncodingSlot(depth: slot.depth + 1)
      try encoder.session.encode(pair.key, into: key, at: encoder.codingPath + [IndexKey(2 * index)])
      try encoder.session.encode(pair.value, into: value, at: encoder.codingPath + [IndexKey(2 * index + 1)])
      return JSONValue.array([key.json, value.json])
    }
    let flat = pairs.sortedByText().flatMap { pair in
      if case .array(let elements) = pair { elements } else { [JSONValue]() }
    }
    slot.set(.array(flat))
  }
}

extension [JSONValue] {
  fileprivate func sortedByText() -> [JSONValue] {
    map { (JSONWriter.bytes(of: $0), $0) }.sorted { $0.0.lexicographicallyPrecedes($1.0) }.map(\.1)
  }
}

struct IndexKey: CodingKey {
  var intValue: Int?
  var stringValue: String { String(intValue ?? 0) }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.intValue = intValue }
  init?(stringValue: String) { nil }
}

/// A member's name; "super" for a superclass's part.
struct NameKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  static let superclass = NameKey("super")

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
