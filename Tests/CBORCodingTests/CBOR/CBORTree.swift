import Foundation

@testable import CBORCoding

/// A document independent of its encoding, to compare CBOR with JSON.
indirect enum CBORTree: Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case array([CBORTree])
  case map([String: CBORTree])
  case other(String)

  init(json: Data) throws {
    self.init(try JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed))
  }

  private init(_ object: Any) {
    switch object {
    case is NSNull: self = .null
    case let object as [Any]: self = .array(object.map { CBORTree($0) })
    case let object as [String: Any]: self = .map(object.mapValues { CBORTree($0) })
    case let object as String: self = .text(object)
    case let object as NSNumber:
      self = Self.isBoolean(object) ? .bool(object.boolValue) : .number(object.doubleValue)
    default: self = .other("\(type(of: object))")
    }
  }

  init(_ item: CBORItem) {
    switch item {
    case .null, .undefined: self = .null
    case .bool(let value): self = .bool(value)
    case .integer(let value): self = .number(Double(value))
    case .double(let value): self = .number(value)
    case .text(let value): self = .text(value)
    case .array(let items): self = .array(items.map { CBORTree($0) })
    case .map(let entries):
      var map: [String: CBORTree] = [:]
      for entry in entries {
        guard case .text(let key) = entry.key, map.updateValue(CBORTree(entry.value), forKey: key) == nil else {
          self = .other("\(entry.key)")
          return
        }
      }
      self = .map(map)
    case .bytes, .tag, .simple: self = .other("\(item)")
    }
  }

  /// The deterministic CBOR that an encoder would make of it.
  var item: CBORItem {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .number(let value): Int128(exactly: value).map { .integer($0) } ?? .double(value)
    case .text(let value): .text(value)
    case .array(let items): .array(items.map(\.item))
    case .map(let entries): .map(entries.map { (.text($0.key), $0.value.item) })
    case .other: .undefined
    }
  }

  private static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
