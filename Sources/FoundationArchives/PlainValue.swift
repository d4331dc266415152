package import Foundation
import FoundationObjects

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

extension PlainValue {
  /// Deeper values are left to object decoding.
  private static let maximumDepth = 128

  /// The value of a property list, or of Foundation's objects for such data; sets become arrays.
  ///
  /// Returns `nil` for other objects, for deep nesting, and if repeated references to parts would make the value much
  /// larger than its source.
  ///
  /// - Parameter length: The bytes of the source.
  package init?(_ object: Any, length: Int) {
    var left = 1 << 16 + 8 * length
    self.init(object, &left, depth: 0)
  }

  private init?(_ object: Any, _ left: inout Int, depth: Int) {
    left -= 1
    guard left >= 0, depth <= Self.maximumDepth else { return nil }
    switch object {
    case let text as String:
      left -= text.utf8.count
      self = .string(text)
    case let number as NSNumber: self.init(number)
    case let data as Data:
      left -= data.count
      self = .data(data)
    case let date as Date: self = .date(date)
    case let values as [Any]: self.init(values, &left, depth: depth)
    case let set as NSSet: self.init(set.allObjects, &left, depth: depth)
    case let entries as [String: Any]:
      var copied: [Entry] = []
      for (key, object) in entries {
        left -= key.utf8.count
        guard let value = PlainValue(object, &left, depth: depth + 1) else { return nil }
        copied.append(Entry(key: key, value: value))
      }
      self = .dictionary(copied)
    case is NSNull: self = .null
    case let uuid as UUID: self = .uuid(uuid)
    case let url as NSURL:
      guard url.baseURL == nil, let url = url.swiftValue else { return nil }
      self = .url(url)
    default:
      // A reference of a keyed archive, which an XML list writes as a dictionary.
      guard let number = Mirror(reflecting: object).descendant("value") as? UInt32 else { return nil }
      self = .dictionary([Entry(key: "CF$UID", value: .integer(Int64(number)))])
    }
  }

  private init?(_ objects: [Any], _ left: inout Int, depth: Int) {
    var values: [PlainValue] = []
    for object in objects {
      guard let value = PlainValue(object, &left, depth: depth + 1) else { return nil }
      values.append(value)
    }
    self = .array(values)
  }

  private init(_ number: NSNumber) {
    if type(of: number) == type(of: NSNumber(value: true)) {
      self = .bool(number.boolValue)
      return
    }
    switch unsafe UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
    case UInt8(ascii: "Q"):
      self = Int64(exactly: number.uint64Value).map { .integer($0) } ?? .unsigned(number.uint64Value)
    default: self = .integer(number.int64Value)
    }
  }
}
