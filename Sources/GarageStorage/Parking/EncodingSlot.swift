/// A place in the JSON that an encoder builds.
final class EncodingSlot {
  enum Content {
    case empty
    case value(JSONValue)
    case array([EncodingSlot])
    case object([String: EncodingSlot])
  }

  var content = Content.empty

  /// The finished JSON. What encoded nothing is an empty object, as with `JSONEncoder`.
  var json: JSONValue {
    switch content {
    case .empty: .object([:])
    case .value(let value): value
    case .array(let elements): .array(elements.map(\.json))
    case .object(let members): .object(members.mapValues(\.json))
    }
  }

  /// The slot of a member; makes this one an object.
  func member(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot()
    if case .object(var members) = content {
      content = .empty
      members[name] = slot
      content = .object(members)
    } else {
      content = .object([name: slot])
    }
    return slot
  }

  /// The slot of a further element; makes this one an array.
  func element() -> EncodingSlot {
    let slot = EncodingSlot()
    if case .array(var elements) = content {
      content = .empty
      elements.append(slot)
      content = .array(elements)
    } else {
      content = .array([slot])
    }
    return slot
  }

  var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

  func becomeObject() { if case .object = content {} else { content = .object([:]) } }
  func becomeArray() { if case .array = content {} else { content = .array([]) } }
}
