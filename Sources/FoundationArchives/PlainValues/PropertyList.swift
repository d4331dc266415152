package import Foundation

/// Property lists, binary and XML, that nobody vouches for: any bytes end in a value or an error, in time and memory
/// proportional to their length.
package enum PropertyList {
  /// - Throws: ``KeyedArchiveError``: the data is no property list, is damaged, nests too deeply, or refers to its own
  ///   parts so often that it would be far longer than it is.
  package static func value(of data: Data) throws(KeyedArchiveError) -> PlainValue {
    var reader = PlainListReader(try PropertyListNodes(data, isArchive: false), length: data.count)
    return try reader.value()
  }
}

/// The dictionary that a property list is, whose values are read one by one: what is wrong with one of them is nothing to the
/// others. As a whole in time and memory proportional to the list's length.
package struct PropertyListEntries {
  /// In the order of their bytes. No two have the same, though they may be equal as Swift compares strings.
  package let keys: [String]
  private let places: [Int32]
  private var reader: PlainListReader

  /// Returns `nil` if the list is something else.
  ///
  /// - Throws: ``KeyedArchiveError``: the data is no property list, is damaged, or has a key that is no text, or twice.
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

  /// The value under the key of this index.
  ///
  /// - Throws: ``KeyedArchiveError``: the value nests too deeply, has a key twice, or would be far longer than it is.
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

  /// The places of keys and values at the top; `nil` if there is no dictionary.
  mutating func top() -> (keys: [Int32], values: [Int32])? {
    switch list.nodes[list.top] {
    case .dictionary(let keys, let values): return (keys, values)
    case .uid(let number):
      // As in a value: it is a dictionary that looks like a reference.
      list.nodes += [.string("CF$UID"), .integer(Int64(number))]
      return ([Int32(list.nodes.count - 2)], [Int32(list.nodes.count - 1)])
    default: return nil
    }
  }

  /// A key at the top.
  mutating func key(_ index: Int32) throws(KeyedArchiveError) -> String {
    guard let value = reading.leaf(list[index]) else {
      if case .string = list[index] { throw Self.tooMuch }
      throw Self.unreadableKey
    }
    guard case .string(let key) = value else { throw Self.unreadableKey }
    return key
  }

  /// A value at the top. One that cannot be read takes nothing from what may be made of the others, as long as not too much
  /// was made in vain.
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
      // What an XML list has of a reference, and what anybody's dictionary may be.
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
