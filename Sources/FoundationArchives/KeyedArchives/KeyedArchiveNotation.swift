package import Foundation
import FoundationObjects

/// An archive of `NSKeyedArchiver` as human-readable text on one line, without creating its objects.
///
/// Strings, numbers, bytes, arrays and dictionaries look as in CBOR's diagnostic notation, dates as in ISO 8601. Other
/// objects show their class and fields: `User{name: "Ada"}`. An object with several references gets a label where it is
/// written, and appears by it elsewhere: `[#2=["a"], #2#]`. Takes linear time and memory.
package struct KeyedArchiveNotation {
  package let text: String
  /// Whether "…" replaces an omitted part: at the limit, for deep nesting, or for too many references to long objects.
  package let isCut: Bool

  /// - Parameter limit: The most bytes of text, plus some for completing a number or an escape.
  /// - Throws: ``KeyedArchiveError`` if the data is damaged or not an archive.
  package init(_ data: Data, limit: Int = 1 << 20) throws(KeyedArchiveError) {
    var printer = KeyedArchivePrinter(try KeyedArchiveGraph(data), length: data.count, limit: limit)
    try printer.printTop()
    text = printer.out.isFull ? printer.out.text + "…" : printer.out.text
    isCut = printer.out.isCut
  }
}

private struct KeyedArchivePrinter {
  /// The nesting limit of printed values.
  private static let maximumDepth = 200

  private(set) var out: Notation
  private let graph: KeyedArchiveGraph
  private var references: [Int]
  private var isWritten: [Bool]
  private var classNames = KeyedArchiveClassNames()
  /// The remaining lookups. No genuine archive needs as many.
  private var left: Int

  init(_ graph: KeyedArchiveGraph, length: Int, limit: Int) {
    self.graph = graph
    left = 1 << 16 + 8 * length
    out = Notation(limit: limit)
    references = Array(repeating: 0, count: graph.objects.count)
    isWritten = Array(repeating: false, count: graph.objects.count)
    for node in graph.list.nodes {
      switch node {
      case .array(let values), .dictionary(_, let values):
        for value in values {
          if case .uid(let number) = graph.list[value], references.indices.contains(number) { references[number] += 1 }
        }
      default: break
      }
    }
  }

  mutating func printTop() throws(KeyedArchiveError) {
    if graph.top.count == 1, let root = graph.top[NSKeyedArchiveRootObjectKey] {
      try print(graph.list[root], depth: 0)
    } else {
      try printFields(graph.top.sorted { $0.key < $1.key }, depth: 0)
    }
  }

  /// Prints a field's value or the object it refers to.
  private mutating func print(_ node: PropertyListNode, depth: Int) throws(KeyedArchiveError) {
    if out.isFull { return out.cut() }
    // Forged lists may contain themselves.
    guard depth < Self.maximumDepth else { return leaveOut() }
    switch node {
    case .uid(let number): try printObject(number, depth: depth)
    case .boolean(let value): out.append("\(value)")
    case .integer(let value): out.append("\(value)")
    case .unsigned(let value): out.append("\(value)")
    case .real(let value): out.append(value)
    case .date(let seconds): print(date: seconds)
    case .data(let data): data.withUnsafeBytes { out.append(hex: $0) }
    case .string(let text): out.append(quoted: text)
    case .array(let values): try printList(values, depth: depth + 1)
    case .dictionary:
      guard charge(node) else { return leaveOut() }
      guard let entries = graph.list.entries(node) else {
        throw KeyedArchiveError("A dictionary has keys that are no text, or there twice.")
      }
      try printFields(entries.sorted { $0.key < $1.key }, depth: depth + 1)
    }
  }

  private mutating func leaveOut() {
    out.append("…")
    out.cut()
  }

  /// Charges for looking up a dictionary's entries. Returns `false` beyond the budget.
  private mutating func charge(_ node: PropertyListNode) -> Bool {
    guard left >= 0 else { return false }
    left -= 1 + graph.list.weight(node)
    return left >= 0
  }

  private mutating func printObject(_ number: Int, depth: Int) throws(KeyedArchiveError) {
    let node = try graph.object(number)
    if graph.isNil(number) { return out.append("null") }
    // It may be a reference instead of an object, even to itself.
    guard case .dictionary = node else { return try print(node, depth: depth + 1) }
    if isWritten[number] { return out.append("#\(number)#") }
    guard charge(node) else { return leaveOut() }
    guard let fields = graph.list.entries(node) else {
      throw KeyedArchiveError("An object has fields whose names are no text, or there twice.")
    }
    isWritten[number] = true
    if references[number] > 1 { out.append("#\(number)=") }
    try printObject(fields, className(fields), depth: depth + 1)
  }

  private mutating func className(_ fields: [String: Int32]) throws(KeyedArchiveError) -> String {
    guard let index = fields["$class"], case .uid(let number) = graph.list[index],
      let name = try classNames.name(number, in: graph)
    else { throw KeyedArchiveError("An object has no class.") }
    return name
  }

  private mutating func printObject(
    _ fields: [String: Int32], _ name: String, depth: Int
  ) throws(KeyedArchiveError) {
    func field(_ key: String) -> PropertyListNode? { fields[key].map { graph.list[$0] } }
    switch name {
    case "NSString", "NSMutableString":
      if case .string(let text)? = field("NS.string") { return out.append(quoted: text) }
    case "NSData", "NSMutableData":
      if case .data(let data)? = field("NS.data") { return data.withUnsafeBytes { out.append(hex: $0) } }
    case "NSDate":
      if case .real(let seconds)? = field("NS.time") { return print(date: seconds) }
    case "NSDictionary", "NSMutableDictionary":
      if case .array(let keys)? = field("NS.keys"), case .array(let values)? = field("NS.objects"),
        keys.count == values.count
      {
        return try printPairs(keys, values, depth: depth)
      }
    default:
      if case .array(let values)? = field("NS.objects"), fields.count == 2 {
        if name != "NSArray", name != "NSMutableArray" { print(name: name) }
        return try printList(values, depth: depth)
      }
    }
    print(name: name)
    try printFields(fields.filter { $0.key != "$class" }.sorted { $0.key < $1.key }, depth: depth)
  }

  private mutating func printList(_ values: [Int32], depth: Int) throws(KeyedArchiveError) {
    out.append("[")
    for (index, value) in values.enumerated() {
      if out.isFull { return out.cut() }
      if index > 0 { out.append(", ") }
      try print(graph.list[value], depth: depth)
    }
    out.append("]")
  }

  private mutating func printPairs(_ keys: [Int32], _ values: [Int32], depth: Int) throws(KeyedArchiveError) {
    out.append("{")
    for (index, (key, value)) in zip(keys, values).enumerated() {
      if out.isFull { return out.cut() }
      if index > 0 { out.append(", ") }
      try print(graph.list[key], depth: depth)
      out.append(": ")
      try print(graph.list[value], depth: depth)
    }
    out.append("}")
  }

  private mutating func printFields(_ fields: [(key: String, value: Int32)], depth: Int) throws(KeyedArchiveError) {
    out.append("{")
    for (index, field) in fields.enumerated() {
      if out.isFull { return out.cut() }
      if index > 0 { out.append(", ") }
      print(name: field.key)
      out.append(": ")
      try print(graph.list[field.value], depth: depth)
    }
    out.append("}")
  }

  /// Prints a name unquoted if it looks like one.
  private mutating func print(name: String) {
    let isPlain = !name.isEmpty && name.utf8.count <= 256 && name.utf8.allSatisfy { $0 > 0x22 && $0 < 0x7F }
    if isPlain { out.append(name) } else { out.append(quoted: name) }
  }

  private mutating func print(date seconds: TimeInterval) {
    let date = Date(timeIntervalSinceReferenceDate: seconds)
    // Dates outside any calendar are printed as numbers.
    guard let text = date.iso8601Text(includingFractionalSeconds: seconds != seconds.rounded()) else {
      return out.append(seconds)
    }
    out.append(text)
  }
}
