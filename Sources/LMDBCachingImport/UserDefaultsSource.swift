import Foundation
import FoundationArchives
import LMDBCaching
import Platform

/// The values of a property list's dictionary, the form of user defaults files.
struct UserDefaultsSource: EntrySource {
  private static let greatestSize = 256 << 20

  private let entries: [(key: String, object: Any)]
  private let length: Int
  private var index = -1

  var count: Int? { entries.count }

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    let file = try SourceFile.open(path)
    let bytes = try reading(path) { () throws(SystemError) in try file.readToEnd(limit: Self.greatestSize) }
    try self.init(Data(bytes), of: path)
  }

  /// - Parameter path: For messages.
  init(_ propertyList: Data, of path: String) throws(ImportError) {
    let list: Any
    do { list = try unsafe PropertyListSerialization.propertyList(from: propertyList, format: nil) } catch {
      throw ImportError(
        .damagedSource, "\(path) is no property list that can be read: binary, or XML.", underlying: error)
    }
    guard let entries = list as? [String: Any] else {
      throw ImportError(.foreignSource, "\(path) is a property list, and no dictionary: there are no keys in it.")
    }
    self.entries = entries.map { ($0.key, $0.value) }.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    length = propertyList.count
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    guard index + 1 < entries.count else { return nil }
    index += 1
    return .entry(SourceEntry(key: entries[index].key))
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    guard let value = PlainValue(entries[index].object, length: length) else {
      throw EntryFailure(
        .damagedValue, "The value nests too deeply, refers to its own parts too often, or is no property list.")
    }
    return .plain(value)
  }
}
