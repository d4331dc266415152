import Foundation
import LMDBCaching
import Platform

/// A PINDiskCache directory: a file with an archive for each key, named by the key with `.`, `:`, `/` and `%`
/// percent-encoded.
///
/// A file's modification time is the last access. An entry's age counts from its file's creation, and its own age
/// limit, if any, is in a file attribute.
struct PINCacheSource: EntrySource {
  private static let ageLimit = "com.pinterest.PINDiskCache.ageLimit"

  private let directory: Directory
  private let context: SourceContext
  private var names: [String]
  private var unreadable: [String]
  private var current: String?

  let count: Int?

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    var (found, unreadable): ([String], [String]) = ([], [])
    directory = try reading(path) { () throws(SystemError) in
      let directory = try Directory(path: path)
      found = try directory.names()
      try directory.forEachUnreadableName { unreadable.append($0) }
      return directory
    }
    // PINCache's names never begin with a dot, which is encoded.
    names = found.filter { !$0.hasPrefix(".") }.sorted(by: >)
    self.unreadable = unreadable
    self.context = context
    count = names.count
  }
  mutating func next() throws(ImportError) -> SourceStep? {
    if let name = unreadable.popLast() {
      return .refused(ImportRefusal(key: name, EntryFailure(.unreadableKey, "The name is no UTF-8.")))
    }
    while let name = names.popLast() {
      guard let key = name.removingPercentEncoding else {
        return .refused(
          ImportRefusal(key: name, EntryFailure(.unreadableKey, "The name is no key that PINCache has encoded.")))
      }
      current = name
      do throws(EntryFailure) {
        if let entry = try entry(name, key) { return .entry(entry) }
      } catch {
        return .refused(ImportRefusal(key: key, error))
      }
    }
    return nil
  }

  private func entry(_ name: String, _ key: String) throws(EntryFailure) -> SourceEntry? {
    do throws(SystemError) {
      guard let file = try directory.open(name) else { return nil }
      let status = try file.status()
      // Without a creation time, use the last access as the latest possible one.
      let created = min(status.made ?? status.modified, status.modified)
      var entry = SourceEntry(key: key, created: created, lastAccess: status.modified)
      if let limit = try file.attribute(Self.ageLimit) { entry.expires = Self.expiry(created, limit) }
      return entry
    } catch {
      throw EntryFailure(error)
    }
  }

  /// An entry's expiry: nanoseconds since 1970, or 0 for none.
  ///
  /// - Parameter limit: Seconds, as the bytes of a floating-point number.
  private static func expiry(_ created: Int64, _ limit: [UInt8]) -> Int64 {
    guard limit.count == 8 else { return 0 }
    let seconds = Double(bitPattern: limit.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    guard seconds > 0 else { return 0 }
    let time = Double(created) + seconds * 1e9
    // 0 means never.
    return time < 9.2e18 ? max(1, Int64(time)) : .max
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    guard let name = current else { preconditionFailure("There is no entry yet.") }
    return try ArchivedData.value(
      of: try SourceFile.value(of: name, in: directory, limit: context.maximumValueSize),
      isUnarchivedByClosure: context.isUnarchivedByClosure)
  }
}
