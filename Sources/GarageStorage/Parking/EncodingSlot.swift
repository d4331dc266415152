/// A place in the JSON that an encoder builds.
final class EncodingSlot {
  private enum Content {
    case empty
    case value(JSONValue)
    case array([EncodingSlot])
    case object([String: EncodingSlot])
  }

  /// How many arrays and objects an encoder may nest: two levels fewer than can be read, for what stands in the place of a
  /// value (a reference, a sorted set).
  static let deepest = JSONValue.deepest - 2

  private var content = Content.empty
  /// The arrays and objects around it.
  let depth: Int

  init(depth: Int = 0) { self.depth = depth }

  /// The finished JSON. What encoded nothing is an empty object, as with `JSONEncoder`.
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

  /// Makes this an object, unless it is something else already. Returns whether it is one.
  @discardableResult
  func becomeObject() -> Bool {
    if isEmpty { content = .object([:]) }
    return isObject
  }

  /// The same for an array.
  @discardableResult
  func becomeArray() -> Bool {
    if isEmpty { content = .array([]) }
    if case .array = content { return true }
    return false
  }

  /// The slot of a member, a new one in place of one that is there. This has to be an object.
  func newMember(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot(depth: depth + 1)
    if case .object(var members) = content {
      // Held once only, so that it is changed in place.
      content = .empty
      members[name] = slot
      content = .object(members)
    }
    return slot
  }

  /// The slot of a member, the one that is there if there is one: who asks for a container again adds to it.
  func member(_ name: String) -> EncodingSlot {
    if case .object(let members) = content, let slot = members[name] { return slot }
    return newMember(name)
  }

  func hasMember(_ name: String) -> Bool {
    if case .object(let members) = content { members[name] != nil } else { false }
  }

  /// The slot of a further element. This has to be an array.
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
