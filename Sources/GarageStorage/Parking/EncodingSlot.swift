import Platform

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
