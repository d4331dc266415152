import Foundation
import FoundationArchives
import LMDBCaching
import Platform

/// The values of a property list's dictionary, the form of user defaults files.
struct UserDefaultsSource: EntrySource {
  private static let greatestSize = 256 << 20

  private var entries: PropertyListEntries
  private var index = -1

  var count: Int? { entries.keys.count }

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    let file = try SourceFile.open(path)
    let bytes = try reading(path) { () throws(SystemError) in try file.readToEnd(limit: Self.greatestSize) }
    try self.init(Data(bytes), of: path)
  }

  /// - Parameter path: For messages.
  init(_ propertyList: Data, of path: String) throws(ImportError) {
    let entries: PropertyListEntries?
    do throws(KeyedArchiveError) {
      entries = try PropertyListEntries(propertyList)
    } catch {
      throw ImportError(
        .damagedSource, "\(path) is no property list that can be read: binary, or XML.", underlying: error)
    }
    guard let entries else {
      throw ImportError(.foreignSource, "\(path) is a property list, and no dictionary: there are no keys in it.")
    }
    self.entries = entries
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    guard index + 1 < entries.keys.count else { return nil }
    index += 1
    return .entry(SourceEntry(key: entries.keys[index]))
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    do throws(KeyedArchiveError) {
      return .plain(try entries.value(index))
    } catch {
      throw EntryFailure(.damagedValue, "The value cannot be read: \(error)")
    }
  }
}
