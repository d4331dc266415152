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

/// Untrusted property lists, binary and XML: any bytes give a value or an error, in linear time and memory.
package enum PropertyList {
  /// - Throws: ``KeyedArchiveError`` if the data is damaged, not a property list, nested too deeply, or expands too
  ///   much by repeated references.
  package static func value(of data: Data) throws(KeyedArchiveError) -> PlainValue {
    var reader = PlainListReader(try PropertyListNodes(data, isArchive: false), length: data.count)
    return try reader.value()
  }
}

/// A property list's top dictionary with independent decoding of each value, so that one failure does not affect the
/// others. Takes linear time and memory in total.
package struct PropertyListEntries {
  /// Ordered by bytes. Keys are unique as bytes, though Swift may consider some equal.
  package let keys: [String]
  private let places: [Int32]
  private var reader: PlainListReader

  /// Returns `nil` for other property lists.
  ///
  /// - Throws: ``KeyedArchiveError`` if the data is damaged, not a property list, or has a repeated or non-text key.
  package init?(_ data: Data) throws(KeyedArchiveError) {
    var reader = PlainListReader(try PropertyListNodes(data, isArchive: false), length: data.count)
    guard let top = reader.top() else { return nil }
    var entries: [(key: String, place: Int32)] = []
    entries.reserveCapacity(top.keys.count)
    for (key, value) in zip(top.keys, top.values) { entries.append((try reader.key(key), value)) }
    entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    for (first, second) in zip(entries, entries.dropFirst()) where first.key.utf8.elementsEqual(second.key.utf8) {
      throw PlainListReader.repeatedKey
    }
    keys = entries.map(\.key)
    places = entries.map(\.place)
    self.reader = reader
  }

  /// Decodes the value at the index of a key.
  ///
  /// - Throws: ``KeyedArchiveError`` for deep nesting, repeated keys, or too much expansion.
  package mutating func value(_ index: Int) throws(KeyedArchiveError) -> PlainValue {
    try reader.element(places[index])
  }
}

private struct PlainListReader {
  private var list: PropertyListNodes
  private var reading: PlainReading

  init(_ list: PropertyListNodes, length: Int) {
    self.list = list
    reading = PlainReading(length: length)
  }

  mutating func value() throws(KeyedArchiveError) -> PlainValue { try value(list.nodes[list.top]) }

  // MARK: A part at a time

  /// Indexes of the top dictionary's keys and values; `nil` for other lists.
  mutating func top() -> (keys: [Int32], values: [Int32])? {
    switch list.nodes[list.top] {
    case .dictionary(let keys, let values): return (keys, values)
    case .uid(let number):
      // As for nested values: a dictionary that looks like a reference.
      list.nodes += [.string("CF$UID"), .integer(Int64(number))]
      return ([Int32(list.nodes.count - 2)], [Int32(list.nodes.count - 1)])
    default: return nil
    }
  }

  mutating func key(_ index: Int32) throws(KeyedArchiveError) -> String {
    guard let value = reading.leaf(list[index]) else {
      if case .string = list[index] { throw Self.tooMuch }
      throw Self.unreadableKey
    }
    guard case .string(let key) = value else { throw Self.unreadableKey }
    return key
  }

  /// Reads a value of the top dictionary. A failing value leaves the others' budget unchanged, up to a limit.
  mutating func element(_ index: Int32) throws(KeyedArchiveError) -> PlainValue {
    let before = reading
    guard reading.enter() else { throw Self.tooMuch }
    do throws(KeyedArchiveError) {
      let element = try value(list[index])
      reading.leave()
      return element
    } catch {
      reading = before.afterFailure(reading)
      throw error
    }
  }

  private mutating func value(_ node: PropertyListNode) throws(KeyedArchiveError) -> PlainValue {
    switch node {
    case .array(let references): return .array(try elements(references))
    case .dictionary(let keys, let values):
      var entries: [PlainValue.Entry] = []
      for (key, value) in zip(try elements(keys), try elements(values)) {
        guard case .string(let name) = key else { throw Self.unreadableKey }
        entries.append(PlainValue.Entry(key: name, value: value))
      }
      guard PlainReading.areDistinct(entries) else { throw Self.repeatedKey }
      return .dictionary(entries)
    case .uid(let number):
      // XML lists write references as dictionaries, which may also be ordinary ones.
      return .dictionary([PlainValue.Entry(key: "CF$UID", value: .integer(Int64(number)))])
    default:
      guard let value = reading.leaf(node) else { throw Self.tooMuch }
      return value
    }
  }

  private mutating func elements(_ references: [Int32]) throws(KeyedArchiveError) -> [PlainValue] {
    guard reading.take(references.count), reading.enter() else { throw Self.tooMuch }
    defer { reading.leave() }
    var elements: [PlainValue] = []
    elements.reserveCapacity(references.count)
    for reference in references { elements.append(try value(list[reference])) }
    return elements
  }

  static let repeatedKey = KeyedArchiveError("A dictionary has a key twice.")
  private static let unreadableKey = KeyedArchiveError("A dictionary has a key that is no text.")
  private static let tooMuch = KeyedArchiveError(
    "The property list nests too deeply, or refers to its own parts too often.")
}

/// Shared limits for reading plain values from property lists and keyed archives.
///
/// Objects with several references are created once for each, so the total is limited in proportion to the input's
/// length, and a depth limit ends cycles.
struct PlainReading {
  /// Deeper values are left to object decoding.
  private static let maximumDepth = 128

  private var left: Int
  /// The budget for values that fail to decode, before they are charged to ``left``.
  private var spare: Int
  private var depth = 0

  init(length: Int) {
    left = 1 << 16 + 8 * length
    spare = 8 * left
  }

  /// The state after a failed value, charging its cost.
  func afterFailure(_ failed: PlainReading) -> PlainReading {
    var next = self
    let wasted = left - failed.left
    if wasted <= spare { next.spare -= wasted } else { next.left = failed.left }
    return next
  }

  /// Charges a value of `bytes` bytes. Returns `false` beyond the budget.
  mutating func take(_ bytes: Int) -> Bool {
    left -= 1 + bytes
    return left >= 0
  }

  mutating func enter() -> Bool {
    guard depth < Self.maximumDepth else { return false }
    depth += 1
    return true
  }

  mutating func leave() { depth -= 1 }

  /// A value that is not a collection. Returns `nil` for collections, for references, and beyond the budget.
  mutating func leaf(_ node: PropertyListNode) -> PlainValue? {
    switch node {
    case .boolean(let value): take(0) ? .bool(value) : nil
    case .integer(let value): take(0) ? .integer(value) : nil
    case .unsigned(let value): take(0) ? .unsigned(value) : nil
    case .real(let value): take(0) ? .double(value) : nil
    case .date(let seconds): take(0) ? .date(Date(timeIntervalSinceReferenceDate: seconds)) : nil
    case .data(let data): take(data.count) ? .data(data) : nil
    case .string(let text): take(text.utf8.count) ? .string(text) : nil
    case .uid, .array, .dictionary: nil
    }
  }

  /// Whether all keys are distinct as Swift strings, which may be equal despite different bytes.
  static func areDistinct(_ entries: [PlainValue.Entry]) -> Bool {
    Set(entries.lazy.map(\.key)).count == entries.count
  }
}

/// A keyed archive's root object, if it is plain data.
package struct PlainContent: Sendable, Equatable {
  package let value: PlainValue
  /// Whether the archived classes match those of ``PlainValue/object``: mutable strings do not, nor do sets, which
  /// become arrays here.
  package let isExact: Bool

  package init(value: PlainValue, isExact: Bool) {
    self.value = value
    self.isExact = isExact
  }
}

extension KeyedArchive {
  /// Reads an archive's root without creating objects. Returns `nil` if it is nil or not plain data.
  ///
  /// - Throws: If the data is damaged or not an archive.
  package static func plainContent(of data: Data) throws(KeyedArchiveError) -> PlainContent? {
    let graph = try KeyedArchiveGraph(data)
    guard let root = graph.top[NSKeyedArchiveRootObjectKey] else {
      throw KeyedArchiveError("The archive has no root object.")
    }
    var reader = PlainArchiveReader(graph, length: data.count)
    guard let value = try reader.value(graph.list[root]) else { return nil }
    return PlainContent(value: value, isExact: reader.isExact)
  }
}

/// Recognizes classes by name and fields. Objects of any other class are not plain data.
private struct PlainArchiveReader {
  private let graph: KeyedArchiveGraph
  private var reading: PlainReading
  private var classNames = KeyedArchiveClassNames()
  /// Cached fields of large objects, by index, because each reference looks them up.
  private var wideFields: [Int32: [String: Int32]] = [:]
  private(set) var isExact = true

  /// More fields than any plain class has.
  private static let greatestWidth = 16

  init(_ graph: KeyedArchiveGraph, length: Int) {
    self.graph = graph
    reading = PlainReading(length: length)
  }

  mutating func value(_ node: PropertyListNode) throws(KeyedArchiveError) -> PlainValue? {
    guard case .uid(let number) = node else { return reading.leaf(node) }
    if graph.isNil(number) { return nil }
    let place = try graph.place(of: number)
    guard case .dictionary = graph.list[place] else { return reading.leaf(graph.list[place]) }
    guard let fields = try fields(at: place) else { return nil }
    guard let reference = fields["$class"], case .uid(let described) = graph.list[reference] else {
      throw Self.withoutClass
    }
    guard let name = try classNames.name(described, in: graph) else {
      throw KeyedArchiveError("There is something else where a class was expected.")
    }
    return try self.object(name, fields)
  }

  private static let withoutClass = KeyedArchiveError("There is an object without a class, or with a key twice.")

  /// Returns `nil` if the lookup would exceed the budget.
  private mutating func fields(at place: Int32) throws(KeyedArchiveError) -> [String: Int32]? {
    if let known = wideFields[place] { return known }
    let object = graph.list[place]
    guard reading.take(graph.list.weight(object)) else { return nil }
    guard let fields = graph.list.entries(object) else { throw Self.withoutClass }
    if fields.count > Self.greatestWidth { wideFields[place] = fields }
    return fields
  }

  private mutating func object(
    _ name: String, _ fields: [String: Int32]
  ) throws(KeyedArchiveError) -> PlainValue? {
    switch name {
    case "NSMutableString", "NSMutableData", "NSMutableArray", "NSMutableDictionary", "NSSet", "NSMutableSet":
      isExact = false
    default: break
    }
    func field(_ key: String) -> PropertyListNode? { fields[key].map { graph.list[$0] } }
    switch name {
    case "NSNull": return reading.take(0) ? .null : nil
    case "NSString", "NSMutableString":
      guard case .string(let text)? = try resolved(field("NS.string")) else { return nil }
      return reading.leaf(.string(text))
    case "NSData", "NSMutableData":
      guard case .data(let data)? = try resolved(field("NS.data")) else { return nil }
      return reading.leaf(.data(data))
    case "NSDate":
      guard case .double(let seconds)? = number(try resolved(field("NS.time"))) else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case "NSNumber":
      if case .boolean(let value)? = field("NS.boolval") { return reading.leaf(.boolean(value)) }
      if case .integer(let value)? = field("NS.intval") { return reading.leaf(.integer(value)) }
      return number(field("NS.dblval"))
    case "NSUUID":
      guard case .data(let bytes)? = try resolved(field("NS.uuidbytes")), bytes.count == 16, reading.take(16) else {
        return nil
      }
      return .uuid([UInt8](bytes).withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case "NSURL": return try url(field("NS.base"), field("NS.relative"))
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet": return try array(field("NS.objects"))
    case "NSDictionary", "NSMutableDictionary": return try dictionary(field("NS.keys"), field("NS.objects"))
    default: return nil
    }
  }

  private func resolved(_ node: PropertyListNode?) throws(KeyedArchiveError) -> PropertyListNode? {
    guard case .uid(let number)? = node else { return node }
    return graph.isNil(number) ? nil : try graph.object(number)
  }

  /// Reads a floating-point number, possibly stored as an integer.
  private mutating func number(_ node: PropertyListNode?) -> PlainValue? {
    switch node {
    case .real(let value)?: reading.take(0) ? .double(value) : nil
    case .integer(let value)?: reading.take(0) ? .double(Double(value)) : nil
    default: nil
    }
  }

  /// Reads a URL without a base that both Foundation types accept unchanged.
  private mutating func url(
    _ base: PropertyListNode?, _ relative: PropertyListNode?
  ) throws(KeyedArchiveError) -> PlainValue? {
    guard try resolved(base) == nil, case .string(let text)? = try resolved(relative), reading.take(text.utf8.count),
      let url = URL(string: text), url.absoluteString.utf8.elementsEqual(text.utf8), NSURL(string: text) != nil
    else { return nil }
    return .url(url)
  }

  private mutating func array(_ node: PropertyListNode?) throws(KeyedArchiveError) -> PlainValue? {
    guard case .array(let references)? = node else { return nil }
    return try elements(references).map { .array($0) }
  }

  private mutating func dictionary(
    _ keys: PropertyListNode?, _ values: PropertyListNode?
  ) throws(KeyedArchiveError) -> PlainValue? {
    guard case .array(let keys)? = keys, case .array(let values)? = values, keys.count == values.count else {
      return nil
    }
    guard let names = try elements(keys), let values = try elements(values) else { return nil }
    var entries: [PlainValue.Entry] = []
    entries.reserveCapacity(names.count)
    for (name, value) in zip(names, values) {
      guard case .string(let key) = name else { return nil }
      entries.append(PlainValue.Entry(key: key, value: value))
    }
    return PlainReading.areDistinct(entries) ? .dictionary(entries) : nil
  }

  private mutating func elements(_ references: [Int32]) throws(KeyedArchiveError) -> [PlainValue]? {
    guard reading.take(references.count) else { return nil }
    guard reading.enter() else { return nil }
    defer { reading.leave() }
    var elements: [PlainValue] = []
    elements.reserveCapacity(references.count)
    for reference in references {
      guard let element = try value(graph.list[reference]) else { return nil }
      elements.append(element)
    }
    return elements
  }
}
