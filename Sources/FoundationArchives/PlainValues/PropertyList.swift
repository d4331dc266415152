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

private struct PlainListReader {
  private let list: PropertyListNodes
  private var reading: PlainReading

  init(_ list: PropertyListNodes, length: Int) {
    self.list = list
    reading = PlainReading(length: length)
  }

  mutating func value() throws(KeyedArchiveError) -> PlainValue { try value(list.nodes[list.top]) }

  private mutating func value(_ node: PropertyListNode) throws(KeyedArchiveError) -> PlainValue {
    switch node {
    case .array(let references): return .array(try elements(references))
    case .dictionary(let keys, let values):
      var entries: [PlainValue.Entry] = []
      for (key, value) in zip(try elements(keys), try elements(values)) {
        guard case .string(let name) = key else { throw KeyedArchiveError("A dictionary has a key that is no text.") }
        entries.append(PlainValue.Entry(key: name, value: value))
      }
      guard PlainReading.areDistinct(entries) else { throw KeyedArchiveError("A dictionary has a key twice.") }
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

  private static let tooMuch = KeyedArchiveError(
    "The property list nests too deeply, or refers to its own parts too often.")
}
