import Foundation

/// A value of a property list. What is in an array or a dictionary is given by its place in the list of all values.
enum PropertyListNode {
  case boolean(Bool)
  case integer(Int64)
  /// Above what `Int64` holds.
  case unsigned(UInt64)
  case real(Double)
  /// Seconds since 2001.
  case date(TimeInterval)
  case data(Data)
  case string(String)
  /// A reference of a keyed archive.
  case uid(Int)
  case array([Int32])
  case dictionary(keys: [Int32], values: [Int32])
}

/// A property list as it was parsed, in memory proportional to its length.
struct PropertyListNodes {
  var nodes: [PropertyListNode] = []
  var top = 0

  subscript(index: Int32) -> PropertyListNode { nodes[Int(index)] }

  /// The archive, its objects, an object, an array of references, a reference, and some to spare.
  private static let depthOfArchives = 16
  private static let greatestDepth = 512

  /// - Parameter isArchive: Whether a keyed archive is expected, which nests no deeper than such an archive does.
  /// - Throws: ``KeyedArchiveError``: the data is no property list, or has parts that those of archives have not.
  init(_ data: Data, isArchive: Bool = true) throws(KeyedArchiveError) {
    if data.starts(with: "bplist".utf8) {
      self = try BinaryPropertyList.parse([UInt8](data))
    } else {
      self = try XMLPropertyList.parse(
        [UInt8](data), maximumDepth: isArchive ? Self.depthOfArchives : Self.greatestDepth)
    }
  }

  init() {}

  /// What it takes to make the entries of a dictionary, in proportion to its keys and to their lengths. Of a list that is
  /// read once for each value of it that is about as many as its bytes; a list that refers to one of its parts again and
  /// again, or to a long key, may ask for far more.
  func weight(_ node: PropertyListNode) -> Int {
    guard case .dictionary(let keys, _) = node else { return 0 }
    return keys.reduce(keys.count) { sum, key in
      guard case .string(let name) = self[key] else { return sum }
      return sum + name.utf8.count >> 3
    }
  }

  /// Returns the entries of a dictionary, or `nil` if it is none, or a key is no text or there twice.
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
