import Platform

/// Values of mapped properties, whose types are known only at run time.
enum MappedValue {
  static func isMappable(_ type: Any.Type) -> Bool {
    if type is any MappableObject.Type || type is any Codable.Type { return true }
    return (type as? any MappedContainer.Type).map { isMappable($0.elementType) } ?? false
  }

  static func value(_ type: Any.Type, _ json: JSONValue, _ decoder: TreeDecoder) throws -> Any {
    if let type = type as? any MappableObject.Type {
      return try decoder.session.mapped(type, json, decoder)
    }
    if let type = type as? any MappedContainer.Type {
      return try decoder.session.nest(decoder.codingPath) { try type.decodeMapped(json, decoder) }
    }
    guard let type = type as? any Decodable.Type else { throw decoder.mismatch(type) }
    return try decode(type, json, decoder)
  }

  private static func decode<T: Decodable>(_ type: T.Type, _ json: JSONValue, _ decoder: TreeDecoder) throws -> Any {
    try decoder.session.decode(type, from: json, at: decoder.codingPath)
  }
}
