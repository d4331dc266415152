package import Foundation

#if !canImport(Darwin)
  package import CBORCoding
#endif

/// A property list value, or one of the few other Foundation values that archives hold for Swift's own types: data that
/// needs no class to be understood.
package enum PlainValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// Above `Int64.max`.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case data(Data)
  case date(Date)
  case url(URL)
  case uuid(UUID)
  case array([PlainValue])
  /// In any order, with unique keys.
  case dictionary([Entry])

  package struct Entry: Sendable, Equatable {
    package let key: String
    package let value: PlainValue

    package init(key: String, value: PlainValue) {
      self.key = key
      self.value = value
    }
  }
}

/// Encoded like Swift's own types: an array of strings is an array of strings.
extension PlainValue: Encodable {
  private struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .array(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    case .dictionary(let entries):
      var container = encoder.container(keyedBy: NameKey.self)
      for entry in entries { try container.encode(entry.value, forKey: NameKey(stringValue: entry.key)) }
    default:
      var container = encoder.singleValueContainer()
      try encode(to: &container)
    }
  }

  private func encode(to container: inout any SingleValueEncodingContainer) throws {
    switch self {
    case .null, .array, .dictionary: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    case .url(let value): try container.encode(value)
    case .uuid(let value): try container.encode(value)
    }
  }
}

extension PlainValue {
  package var object: any NSObject & NSCoding {
    switch self {
    case .null: NSNull()
    case .bool(let value): NSNumber(value: value)
    case .integer(let value): NSNumber(value: value)
    case .unsigned(let value): NSNumber(value: value)
    case .double(let value): NSNumber(value: value)
    case .string(let value): NSString(string: value)
    case .data(let value): NSData(data: value)
    case .date(let value): NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
    // Foundation's own bridging, whose limits equal those of both types.
    case .url(let value): value as NSURL
    case .uuid(let value): value as NSUUID
    case .array(let values): NSArray(array: values.map(\.object))
    case .dictionary(let entries):
      NSDictionary(objects: entries.map(\.value.object), forKeys: entries.map { NSString(string: $0.key) })
    }
  }
}

#if !canImport(Darwin)
  /// Archives the equivalent of ``object`` without creating the objects.
  extension PlainValue: SwiftElements {
    package static func write(_ value: Any, to archiver: CBORKeyedArchiver) {
      (value as? PlainValue)?.write(to: archiver)
    }

    private func write(to archiver: CBORKeyedArchiver) {
      switch self {
      case .null: archiver.writeElement(NSNull())
      case .bool(let value): archiver.writeElement(value)
      case .integer(let value): archiver.writeElement(value)
      case .unsigned(let value): archiver.writeElement(value)
      case .double(let value): archiver.writeElement(value)
      case .string(let value): archiver.writeElement(value)
      case .data(let value): archiver.writeElement(value)
      case .date(let value): archiver.writeElement(value)
      case .url(let value): archiver.writeElement(value as NSURL)
      case .uuid(let value): archiver.writeElement(value)
      case .array(let values):
        archiver.writeArray(count: values.count) {
          for value in values where archiver.error == nil { value.write(to: archiver) }
        }
      case .dictionary(let entries):
        archiver.writeDictionary(count: entries.count) {
          for entry in entries.sorted(by: Entry.precedes) where archiver.error == nil {
            archiver.writeElement(entry.key)
            entry.value.write(to: archiver)
          }
        }
      }
    }
  }

  extension PlainValue.Entry {
    /// CBOR's order: shorter keys first.
    fileprivate static func precedes(_ first: Self, _ second: Self) -> Bool {
      let (first, second) = (first.key.utf8, second.key.utf8)
      return first.count == second.count ? first.lexicographicallyPrecedes(second) : first.count < second.count
    }
  }
#endif
