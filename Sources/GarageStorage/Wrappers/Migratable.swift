import Foundation
import Platform

/// A property that was a mapped object without an identifier, and is `Codable` now.
///
/// GarageStorage stored such an object as JSON text inside its owner's JSON. This reads both forms and writes the
/// current one. A property that is missing, null, or points to a deleted object is nil.
@propertyWrapper
public struct Migratable<Value: Decodable>: Decodable {
  public var wrappedValue: Value?

  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  public init() { wrappedValue = nil }

  /// - Throws: The error of `Value`, if the JSON is in neither form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      wrappedValue = nil
    } else if let tree = decoder as? TreeDecoder, let anonymous = tree.json.originalAnonymous {
      wrappedValue = try tree.session.anonymous(Value.self, anonymous, tree)
    } else if let tree = decoder as? TreeDecoder, try tree.session.isMissing(Value.self, tree.json) {
      wrappedValue = nil
    } else {
      wrappedValue = try container.decode(Value.self)
    }
  }
}

extension Migratable: Encodable where Value: Encodable {
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

extension Migratable: Sendable where Value: Sendable {}
extension Migratable: Equatable where Value: Equatable {}
extension Migratable: Hashable where Value: Hashable {}

extension KeyedDecodingContainer {
  /// A missing property is nil.
  public func decode<Value>(_ type: Migratable<Value>.Type, forKey key: Key) throws -> Migratable<Value> {
    try decodeIfPresent(type, forKey: key) ?? Migratable()
  }
}

extension RetrievalSession {
  /// An anonymous object in the original's form, encrypted separately if its owner is.
  func anonymous<T: Decodable>(
    _ type: T.Type, _ anonymous: (json: String, status: SyncStatus?), _ decoder: TreeDecoder
  ) throws -> T {
    var bytes = Array(anonymous.json.utf8)
    if bytes.first != UInt8(ascii: "{"), let delegate = source.delegate() {
      bytes = Array(try delegate.decrypt(anonymous.json))
    }
    let json: JSONValue
    do throws(JSONParser.Failure) {
      json = try JSONParser.value(of: bytes)
    } catch {
      throw decoder.corrupted("An anonymous object is not JSON: \(error)")
    }
    let value = try decode(type, from: json, at: decoder.codingPath)
    return anonymous.status.flatMap { Self.with($0, value) } ?? value
  }
}
