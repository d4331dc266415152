import Platform

extension Reference: Encodable {
  public func encode(to encoder: any Encoder) throws {
    if let tree = encoder as? TreeEncoder {
      try encode(with: tree)
    } else {
      var container = encoder.singleValueContainer()
      if Value.holdsSeveral {
        try container.encode(identifiers)
      } else if let identifier = identifiers.first {
        try container.encode(identifier)
      } else {
        try container.encodeNil()
      }
    }
  }
}

extension Reference: Decodable {
  public init(from decoder: any Decoder) throws {
    guard let tree = decoder as? TreeDecoder else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self.init()
      } else if Value.holdsSeveral {
        self.init(boxes: try container.decode([Value.Object].self).map { ReferenceBox($0) })
      } else {
        self.init(boxes: [ReferenceBox(try container.decode(Value.Object.self))])
      }
      return
    }
    func box(_ decoder: TreeDecoder) throws -> ReferenceBox<Value.Object> {
      if let reference = decoder.json.reference { return ReferenceBox(reference, tree.session) }
      return ReferenceBox(try tree.session.decode(Value.Object.self, from: decoder.json, at: decoder.codingPath))
    }
    switch tree.json {
    case .null: self.init()
    case .array(let elements) where Value.holdsSeveral:
      self.init(boxes: try elements.enumerated().map { try box(tree.nested($0.element, IndexKey($0.offset))) })
    case .array: throw tree.mismatch(Value.Object.self)
    default: self.init(boxes: [try box(tree)])
    }
  }
}

extension KeyedDecodingContainer {
  /// A missing reference points to nothing, for objects parked before they had the property.
  public func decode<Value>(_ type: Reference<Value>.Type, forKey key: Key) throws -> Reference<Value> {
    try decodeIfPresent(type, forKey: key) ?? Reference()
  }
}
