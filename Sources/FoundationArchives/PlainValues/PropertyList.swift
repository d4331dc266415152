package import Foundation

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
