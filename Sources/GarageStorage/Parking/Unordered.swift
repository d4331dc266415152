import Platform

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
