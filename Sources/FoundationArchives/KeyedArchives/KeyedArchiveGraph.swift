import Foundation

/// The objects of a keyed archive, checked for what the archive as a whole has to be.
struct KeyedArchiveGraph {
  let list: PropertyListNodes
  /// Where each object is in the list; the number is what refers to it.
  let objects: [Int32]
  /// What was encoded at the top level.
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

  /// The value of an object.
  func object(_ number: Int) throws(KeyedArchiveError) -> PropertyListNode { try list[place(of: number)] }

  /// Where an object is in the list. Several numbers may stand for one.
  func place(of number: Int) throws(KeyedArchiveError) -> Int32 {
    guard objects.indices.contains(number) else {
      throw KeyedArchiveError("The archive refers to an object that is not there (\(number)).")
    }
    return objects[number]
  }

  /// Whether it is the object that stands for nil.
  func isNil(_ number: Int) -> Bool {
    guard number == 0, let first = objects.first, case .string("$null") = list[first] else { return false }
    return true
  }
}
