import Foundation

/// A keyed archive's objects, after validation of the archive as a whole.
struct KeyedArchiveGraph {
  let list: PropertyListNodes
  /// Each object's index in the list, by reference number.
  let objects: [Int32]
  /// The top level's values.
  let top: [String: Int32]

  init(_ data: Data) throws(KeyedArchiveError) {
    list = try PropertyListNodes(data)
    guard let archive = list.entries(list.nodes[list.top]), let archiver = archive["$archiver"],
      case .string("NSKeyedArchiver") = list[archiver], let version = archive["$version"],
      case .integer(100_000) = list[version], let objects = archive["$objects"],
      case .array(let all) = list[objects], let top = archive["$top"], let values = list.entries(list[top])
    else { throw KeyedArchiveError("The property list is no archive of NSKeyedArchiver, or of another version of it.") }
    self.objects = all
    self.top = values
  }

  func object(_ number: Int) throws(KeyedArchiveError) -> PropertyListNode { try list[place(of: number)] }

  /// An object's index in the list. Several numbers may share one.
  func place(of number: Int) throws(KeyedArchiveError) -> Int32 {
    guard objects.indices.contains(number) else {
      throw KeyedArchiveError("The archive refers to an object that is not there (\(number)).")
    }
    return objects[number]
  }

  /// Whether the number refers to nil.
  func isNil(_ number: Int) -> Bool {
    guard number == 0, let first = objects.first, case .string("$null") = list[first] else { return false }
    return true
  }
}
