package import Foundation

#if !canImport(Darwin)
  package import CBORCoding
#endif

/// Data as property lists hold it, and the few objects besides that Foundation's archives have for Swift's own types: what
/// needs no class to be understood.
package enum PlainValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// Above what `Int64` holds.
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case data(Data)
  case date(Date)
  case url(URL)
  case uuid(UUID)
  case array([PlainValue])
  /// In any order, no key twice.
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

/// As Swift's own types encode themselves: an array of strings is an array of strings.
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
  /// Foundation's object for it.
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
    // Foundation's own way from the one to the other: it takes what either takes.
    case .url(let value): value as NSURL
    case .uuid(let value): value as NSUUID
    case .array(let values): NSArray(array: values.map(\.object))
    case .dictionary(let entries):
      NSDictionary(objects: entries.map(\.value.object), forKeys: entries.map { NSString(string: $0.key) })
    }
  }
}

#if !canImport(Darwin)
  /// In an archive of objects: what ``object`` would be, without making any of the objects.
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
    /// In the order of CBOR: shorter keys are first.
    fileprivate static func precedes(_ first: Self, _ second: Self) -> Bool {
      let (first, second) = (first.key.utf8, second.key.utf8)
      return first.count == second.count ? first.lexicographicallyPrecedes(second) : first.count < second.count
    }
  }
#endif
