import Foundation
import TestSupport

@testable import CBORCoding

// Items as values, to compare CBOR with JSON.

extension CBORItem {
  init(json: Data) throws {
    self.init(object: try JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed))
  }

  private init(object: Any) {
    switch object {
    case let object as [Any]: self = .array(object.map { CBORItem(object: $0) })
    case let object as [String: Any]: self = .map(object.map { (.text($0.key), CBORItem(object: $0.value)) })
    case let object as String: self = .text(object)
    case let object as NSNumber:
      let isBoolean = String(cString: object.objCType) == "c"
      self = isBoolean ? .bool(object.boolValue) : .number(object.doubleValue)
    default: self = .null
    }
  }

  /// An integer if it is exact, as `JSONSerialization` does not tell the two apart.
  private static func number(_ value: Double) -> CBORItem {
    Int128(exactly: value).map { .integer($0) } ?? .double(value)
  }

  /// The item with its numbers as JSON has them.
  var asInJSON: CBORItem {
    switch self {
    case .integer(let value): .number(Double(value))
    case .double(let value): .number(value)
    case .array(let items): .array(items.map(\.asInJSON))
    case .map(let entries): .map(entries.map { ($0.key, $0.value.asInJSON) })
    default: self
    }
  }

  /// A scalar that JSON can hold, too.
  static func random(_ random: inout SeededRandom) -> CBORItem {
    let scalars: [String] = ["a", "b", "key", "é", "\0", "\u{1F600}", "\"", "long and longer ", "0"]
    switch random.below(5) {
    case 0: return .null
    case 1: return .bool(random.below(2) == 0)
    case 2: return .integer(Int128(random.below(1 << (1 + random.below(50)))) * (random.below(2) == 0 ? 1 : -1))
    case 3: return .number(Double(random.below(1 << 20)) / 64 - 8_000)
    default: return .text((0..<random.below(5)).map { _ in scalars[random.below(scalars.count)] }.joined())
    }
  }
}

extension CBORItem: Codable {
  init(from decoder: any Decoder) throws {
    if let map = try? decoder.container(keyedBy: AnyKey.self) {
      // In another order than the document's.
      let keys = map.allKeys.reversed()
      self = .map(try keys.map { (.text($0.stringValue), try map.decode(CBORItem.self, forKey: $0)) })
    } else if var list = try? decoder.unkeyedContainer() {
      var items: [CBORItem] = []
      while !list.isAtEnd { items.append(try list.decode(CBORItem.self)) }
      self = .array(items)
    } else {
      let single = try decoder.singleValueContainer()
      if single.decodeNil() {
        self = .null
      } else if let bool = try? single.decode(Bool.self) {
        self = .bool(bool)
      } else if let number = try? single.decode(Double.self) {
        self = .number(number)
      } else {
        self = .text(try single.decode(String.self))
      }
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .map(let entries):
      var map = encoder.container(keyedBy: AnyKey.self)
      for entry in entries {
        if case .text(let key) = entry.key { try map.encode(entry.value, forKey: AnyKey(stringValue: key)) }
      }
    case .array(let items):
      var list = encoder.unkeyedContainer()
      for item in items { try list.encode(item) }
    case .bool(let value): try value.encode(to: encoder)
    case .integer(let value): try Int64(value).encode(to: encoder)
    case .double(let value): try value.encode(to: encoder)
    case .text(let value): try value.encode(to: encoder)
    default:
      var single = encoder.singleValueContainer()
      try single.encodeNil()
    }
  }
}
