import Platform

/// Decodes a value from JSON. All nested values pass through the session, which resolves references to parked objects.
struct TreeDecoder: Decoder {
  let session: RetrievalSession
  let json: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ session: RetrievalSession, _ json: JSONValue, _ codingPath: [any CodingKey]) {
    self.session = session
    self.json = json
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedTreeDecoding(decoder: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = json else { throw mismatch([Any].self) }
    return UnkeyedTreeDecoding(decoder: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleTreeDecoding(decoder: self) }

  func nested(_ json: JSONValue, _ key: any CodingKey) -> TreeDecoder {
    TreeDecoder(session, json, codingPath + [key])
  }

  // MARK: - Scalars

  func scalar(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let value) = json else { throw mismatch(type) }
    return value
  }

  func scalar(_ type: String.Type) throws -> String {
    guard case .string(let value) = json else { throw mismatch(type) }
    return value
  }

  func scalar<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    guard case .number(let text) = json else { throw mismatch(type) }
    guard let value = json.integer(type) else { throw corrupted("\(text) is not of type \(type)") }
    return value
  }

  func scalar<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Number.Type) throws -> Number {
    guard let value = json.floatingPoint(type) else {
      if case .number(let text) = json { throw corrupted("\(text) is not of type \(type)") }
      throw mismatch(type)
    }
    return value
  }

  // MARK: - Errors

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "There is \(json.kind) in place of \(type)")
    return json == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  func corrupted(_ reason: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
  }
}
