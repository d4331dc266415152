import Foundation
import FoundationArchives
import LMDBCaching

/// Data from object stores: `NSKeyedArchiver` archives, unless the program used another form.
enum ArchivedData {
  /// - Parameter isUnarchivedByClosure: Whether the cache has a closure for other forms than keyed archives.
  /// - Throws: If the archive is damaged.
  static func value(of data: Data, isUnarchivedByClosure: Bool) throws(EntryFailure) -> ImportedValue {
    let content: PlainContent?
    do throws(KeyedArchiveError) {
      content = try KeyedArchive.plainContent(of: data)
    } catch {
      if isUnarchivedByClosure { return .custom(data) }
      guard isPropertyList(data) else { return .bytes(data) }
      throw EntryFailure(.damagedValue, "The value looks like an archive, and cannot be read: \(error)")
    }
    guard let content, content.isExact else { return .keyedArchive(data) }
    switch content.value {
    // Kept unchanged: the archive can be read as objects and as values.
    case .null, .array, .dictionary: return .keyedArchive(data)
    default: return .plain(content.value)
    }
  }

  /// Whether it begins like a property list, the form of archives.
  private static func isPropertyList(_ data: Data) -> Bool {
    ["bplist", "<?xml", "<plist", "<!DOCTYPE plist"].contains { data.starts(with: $0.utf8) }
  }
}
