package import Foundation
package import TestSupport

/// A property list as a tree that can be changed anywhere and written in binary form, valid or not.
package indirect enum PropertyListTree: Sendable {
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case data([UInt8])
  case string(String)
  case uid(Int)
  case array([PropertyListTree])
  case dictionary([(key: String, value: PropertyListTree)])

  /// - Parameter object: Foundation's reading of an archive in XML form, where references are dictionaries.
  package init(_ object: Any) {
    switch object {
    case let object as String: self = .string(object)
    case let object as Data: self = .data(Array(object))
    case let object as [Any]: self = .array(object.map { PropertyListTree($0) })
    case let object as [String: Any]:
      if object.count == 1, let number = object["CF$UID"] as? Int {
        self = .uid(number)
      } else {
        self = .dictionary(object.sorted { $0.key < $1.key }.map { ($0.key, PropertyListTree($0.value)) })
      }
    case let object as Bool: self = .boolean(object)
    case let object as Int: self = .integer(Int64(object))
    case let object as Double: self = .real(object)
    default: self = .string("\(object)")
    }
  }

  package static func archive(of object: any NSCoding) throws -> PropertyListTree {
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.outputFormat = .xml
    archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
    archiver.finishEncoding()
    return PropertyListTree(try PropertyListSerialization.propertyList(from: archiver.encodedData, format: nil))
  }

  // MARK: Writing

  package var binary: [UInt8] {
    var objects: [[UInt8]] = []
    let top = write(to: &objects)
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      bytes += object
    }
    let table = bytes.count
    for offset in offsets { bytes += Self.digits(offset, 4) }
    bytes += [0, 0, 0, 0, 0, 0, 4, 4]
    return bytes + Self.digits(objects.count, 8) + Self.digits(top, 8) + Self.digits(table, 8)
  }

  private static func digits(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 15, 0x12] + digits(count, 4)
  }

  private func write(to objects: inout [[UInt8]]) -> Int {
    let index = objects.count
    objects.append([])
    switch self {
    case .boolean(let value): objects[index] = [value ? 9 : 8]
    case .integer(let value): objects[index] = [0x13] + Self.digits(Int(value), 8)
    case .real(let value): objects[index] = [0x23] + Self.digits(Int(Int64(bitPattern: value.bitPattern)), 8)
    case .data(let bytes): objects[index] = Self.head(4, bytes.count) + bytes
    case .string(let text):
      if text.utf8.allSatisfy({ $0 < 0x80 }) {
        objects[index] = Self.head(5, text.utf8.count) + Array(text.utf8)
      } else {
        objects[index] = Self.head(6, text.utf16.count) + text.utf16.flatMap { Self.digits(Int($0), 2) }
      }
    case .uid(let number): objects[index] = [0x83] + Self.digits(number, 4)
    case .array(let elements):
      let references = elements.map { $0.write(to: &objects) }
      objects[index] = Self.head(0xA, elements.count) + references.flatMap { Self.digits($0, 4) }
    case .dictionary(let entries):
      let keys = entries.map { PropertyListTree.string($0.key).write(to: &objects) }
      let values = entries.map { $0.value.write(to: &objects) }
      objects[index] = Self.head(0xD, entries.count) + (keys + values).flatMap { Self.digits($0, 4) }
    }
    return index
  }

  // MARK: Changing

  private var count: Int {
    switch self {
    case .array(let elements): elements.reduce(1) { $0 + $1.count }
    case .dictionary(let entries): entries.reduce(1) { $0 + $1.value.count }
    default: 1
    }
  }

  package mutating func mutate(_ random: inout SeededRandom) {
    var place = random.below(count)
    mutate(at: &place, &random)
  }

  private mutating func mutate(at place: inout Int, _ random: inout SeededRandom) {
    if place == 0 {
      place = -1
      return replace(&random)
    }
    place -= 1
    switch self {
    case .array(var elements):
      for index in elements.indices where place >= 0 { elements[index].mutate(at: &place, &random) }
      self = .array(elements)
    case .dictionary(var entries):
      for index in entries.indices where place >= 0 { entries[index].value.mutate(at: &place, &random) }
      self = .dictionary(entries)
    default: break
    }
  }

  private static let names = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSCountedSet", "NSOrderedSet",
    "NSString", "NSMutableString", "NSData", "NSMutableData", "NSDate", "NSUUID", "NSURL", "NSNumber",
    "NSDecimalNumber", "NSValue", "NSIndexSet", "NSIndexPath", "NSAttributedString", "NSCharacterSet", "NSError",
    "NSLocale", "NSTimeZone", "NSCalendar", "NSDateComponents", "NSDateInterval", "NSMeasurement", "NSUnitLength",
    "NSThread", "NSURLRequest", "NSObject", "Foundation.NSThread", "Swift.String", "Reliability.UntrustedNode",
    "Reliability", "", ".", "$null", "NS.objects", "NS.keys", "NS.time", "NS.relative", "NS.data", "NSRangeCount",
  ]
  private static let integers: [Int64] = [0, 1, -1, 2, 255, .max, .min, 1 << 31, 1 << 32, 100_000]

  private mutating func replace(_ random: inout SeededRandom) {
    switch (self, random.below(4)) {
    case (.array(var elements), 0...2) where !elements.isEmpty:
      let index = random.below(elements.count)
      switch random.below(4) {
      case 0: elements.remove(at: index)
      case 1: elements.append(elements[index])
      case 2: elements.swapAt(index, random.below(elements.count))
      default: elements += elements
      }
      self = .array(elements)
    case (.dictionary(var entries), 0...2) where !entries.isEmpty:
      let index = random.below(entries.count)
      switch random.below(4) {
      case 0: entries.remove(at: index)
      case 1: entries.append(entries[index])
      case 2: entries[index].key = Self.names[random.below(Self.names.count)]
      default: (entries[index].value, entries[0].value) = (entries[0].value, entries[index].value)
      }
      self = .dictionary(entries)
    case (.uid(let number), 0...2): self = .uid(max(0, number + random.below(7) - 3))
    case (.string, 0...2): self = .string(Self.names[random.below(Self.names.count)])
    default:
      switch random.below(8) {
      case 0: self = .boolean(random.below(2) == 0)
      case 1: self = .integer(Self.integers[random.below(Self.integers.count)])
      case 2: self = .real([0, -1, .nan, .infinity, 1e300, 0.1][random.below(6)])
      case 3: self = .data(random.bytes(random.below(40)))
      case 4: self = .string(String(repeating: "ü", count: random.below(20)))
      case 5: self = .uid(random.below(40))
      case 6: self = .array((0..<random.below(5)).map { _ in .uid(random.below(12)) })
      default:
        self = .dictionary([("$class", .uid(random.below(12))), ("NS.objects", .array([.uid(random.below(12))]))])
      }
    }
  }
}
