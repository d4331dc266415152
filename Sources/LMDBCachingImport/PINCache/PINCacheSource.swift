import Foundation
import LMDBCaching
import Platform

/// What PINDiskCache keeps in a directory: an archive in a file for each key, whose name is the key with `.`, `:`, `/` and `%`
/// percent-encoded.
///
/// A file's time of modification is that of the last access. The age of an entry counts from when its file was made, and its
/// limit is in an attribute of the file, if it has one of its own.
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
    // A name of its own never begins with a dot, which is encoded.
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

  /// Returns `nil` if it is gone.
  private func entry(_ name: String, _ key: String) throws(EntryFailure) -> SourceEntry? {
    do throws(SystemError) {
      guard let file = try directory.open(name) else { return nil }
      let status = try file.status()
      // Where the system does not know when a file was made it was at its last access, at the latest.
      let created = min(status.made ?? status.modified, status.modified)
      var entry = SourceEntry(key: key, created: created, lastAccess: status.modified)
      if let limit = try file.attribute(Self.ageLimit) { entry.expires = Self.expiry(created, limit) }
      return entry
    } catch {
      throw EntryFailure(error)
    }
  }

  /// When an entry expires: nanoseconds since 1970, or 0 for a limit that is none.
  ///
  /// - Parameter limit: Seconds, as a floating-point number that lies in memory.
  private static func expiry(_ created: Int64, _ limit: [UInt8]) -> Int64 {
    guard limit.count == 8 else { return 0 }
    let seconds = Double(bitPattern: limit.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    guard seconds > 0 else { return 0 }
    let time = Double(created) + seconds * 1e9
    // 0 is never.
    return time < 9.2e18 ? max(1, Int64(time)) : .max
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    guard let name = current else { preconditionFailure("There is no entry yet.") }
    return try ArchivedData.value(
      of: try SourceFile.value(of: name, in: directory, limit: context.maximumValueSize),
      isUnarchivedByClosure: context.isUnarchivedByClosure)
  }
}
