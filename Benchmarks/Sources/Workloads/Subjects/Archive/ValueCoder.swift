import Foundation

protocol ValueCoder: Sendable {
  var name: String { get }
  func encode<Value: Codable & Sendable>(_ value: Value) throws -> Data
  func decode<Value: Codable & Sendable>(_ type: Value.Type, from archive: Data) throws -> Value
}
