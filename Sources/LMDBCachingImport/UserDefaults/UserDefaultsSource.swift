import Foundation
import FoundationArchives
import LMDBCaching
import Platform

/// The values of a dictionary in a property list, as user defaults are kept in a file.
struct UserDefaultsSource: EntrySource {
  private static let greatestSize = 256 << 20

  private let entries: [PlainValue.Entry]
  private var index = -1

  var count: Int? { entries.count }

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    let file = try SourceFile.open(path)
    let bytes = try reading(path) { () throws(SystemError) in try file.readToEnd(limit: Self.greatestSize) }
    let value: PlainValue
    do throws(KeyedArchiveError) {
      value = try PropertyList.value(of: Data(bytes))
    } catch {
      throw ImportError(
        .damagedSource, "\(path) is no property list that can be read: binary, or XML.", underlying: error)
    }
    guard case .dictionary(let entries) = value else {
      throw ImportError(.foreignSource, "\(path) is a property list, and no dictionary: there are no keys in it.")
    }
    self.entries = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    guard index + 1 < entries.count else { return nil }
    index += 1
    return .entry(SourceEntry(key: entries[index].key))
  }

  mutating func value() throws(EntryFailure) -> ImportedValue { .plain(entries[index].value) }
}
