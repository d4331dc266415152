import Foundation
import FoundationArchives
import LMDBCaching

/// What stores of objects keep of each: an archive of `NSKeyedArchiver`, unless the program had its own way.
enum ArchivedData {
  /// - Parameter isUnarchivedByClosure: Whether the cache has a closure for what is no keyed archive.
  /// - Throws: The archive is damaged.
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
    // Kept as they are: the archive is read as objects and as values.
    case .null, .array, .dictionary: return .keyedArchive(data)
    default: return .plain(content.value)
    }
  }

  /// Whether it begins as the property lists do that archives are.
  private static func isPropertyList(_ data: Data) -> Bool {
    ["bplist", "<?xml", "<plist", "<!DOCTYPE plist"].contains { data.starts(with: $0.utf8) }
  }
}
