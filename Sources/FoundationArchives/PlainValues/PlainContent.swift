package import Foundation

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
