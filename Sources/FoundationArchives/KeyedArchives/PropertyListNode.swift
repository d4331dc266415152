import Foundation

/// A property list value. Elements of arrays and dictionaries are indexes in the list of all values.
enum PropertyListNode {
  case boolean(Bool)
  case integer(Int64)
  /// Above `Int64.max`.
  case unsigned(UInt64)
  case real(Double)
  /// Seconds since 2001.
  case date(TimeInterval)
  case data(Data)
  case string(String)
  case uid(Int)
  case array([Int32])
  case dictionary(keys: [Int32], values: [Int32])
}

/// A parsed property list, in linear memory.
struct PropertyListNodes {
  var nodes: [PropertyListNode] = []
  var top = 0

  subscript(index: Int32) -> PropertyListNode { nodes[Int(index)] }

  /// An archive's levels: the archive, its objects, an object, an array of references, a reference, and spare ones.
  private static let depthOfArchives = 16
  private static let greatestDepth = 512

  /// - Parameter isArchive: Whether to limit nesting to that of keyed archives.
  /// - Throws: ``KeyedArchiveError`` if the data is not a property list, or contains parts that archives never have.
  init(_ data: Data, isArchive: Bool = true) throws(KeyedArchiveError) {
    if data.starts(with: "bplist".utf8) {
      self = try BinaryPropertyList.parse([UInt8](data))
    } else {
      self = try XMLPropertyList.parse(
        [UInt8](data), maximumDepth: isArchive ? Self.depthOfArchives : Self.greatestDepth)
    }
  }

  init() {}

  /// The cost of looking up a dictionary's entries, in proportion to its keys and their lengths. Reading each value
  /// once costs about the list's size; repeated references to a part or a long key may cost far more.
  func weight(_ node: PropertyListNode) -> Int {
    guard case .dictionary(let keys, _) = node else { return 0 }
    return keys.reduce(keys.count) { sum, key in
      guard case .string(let name) = self[key] else { return sum }
      return sum + name.utf8.count >> 3
    }
  }

  /// A dictionary's entries; `nil` for other nodes, and for repeated or non-text keys.
  func entries(_ node: PropertyListNode) -> [String: Int32]? {
    guard case .dictionary(let keys, let values) = node else { return nil }
    var entries: [String: Int32] = [:]
    entries.reserveCapacity(keys.count)
    for (key, value) in zip(keys, values) {
      guard case .string(let name) = self[key], entries.updateValue(value, forKey: name) == nil else { return nil }
    }
    return entries
  }
}
