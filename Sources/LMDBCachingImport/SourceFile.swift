import Foundation
import FoundationArchives
import LMDBCaching
import Platform

/// Source files: opened in an open directory, without following links, and read whole.
enum SourceFile {
  /// The directory and name of a path. Follows its links, which the caller chose.
  static func place(_ path: String) throws(ImportError) -> (directory: Directory, name: String) {
    try reading(path) { () throws(SystemError) in
      let canonical = try Directory.canonicalPath(path)
      guard let slash = canonical.lastIndex(of: "/"), canonical != "/" else {
        throw SystemError("open", path, errno: EISDIR)
      }
      let parent = slash == canonical.startIndex ? "/" : String(canonical[..<slash])
      return (try Directory(path: parent), String(canonical[canonical.index(after: slash)...]))
    }
  }

  static func open(_ path: String) throws(ImportError) -> File {
    let (directory, name) = try place(path)
    let file = try reading(path) { () throws(SystemError) in try directory.open(name) }
    guard let file else { throw ImportError(SystemError("openat", path, errno: ENOENT), of: path) }
    return file
  }

  /// Reads the value of an entry from a file in a directory.
  ///
  /// - Parameter size: The required number of bytes, if known.
  static func value(
    of name: String, in directory: Directory, limit: Int, size: Int? = nil
  ) throws(EntryFailure) -> Data {
    let file: File?
    do throws(SystemError) { file = try directory.open(name) } catch {
      let failure = EntryFailure(error)
      guard failure.reason == .notAFile else { throw failure }
      // A refused entry, unlike a link that belongs to none.
      throw EntryFailure(.unreadable, "The file of the value was not opened, and the entry not taken: \(error)")
    }
    guard let file else { throw EntryFailure(.missingValue, "The file of the value, \(name), is not there.") }
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch { throw EntryFailure(error) }
    if let size, size != status.size {
      throw EntryFailure(
        .damagedValue, "The file of the value, \(name), has \(status.size) bytes in place of \(size).")
    }
    return try value(of: file, status, limit: limit)
  }

  private static func value(of file: borrowing File, _ status: FileStatus, limit: Int) throws(EntryFailure) -> Data {
    guard status.size <= limit else {
      throw EntryFailure(
        .tooLarge, "The value has \(status.size) bytes, and \(limit) are taken at most. Raise maximumValueSize.")
    }
    var data = Data(count: status.size)
    let isWhole: Bool
    do throws(SystemError) {
      let isRead = try unsafe data.withUnsafeMutableBytes { bytes -> Result<Bool, SystemError> in
        do throws(SystemError) { return unsafe .success(try file.read(bytes)) } catch { return .failure(error) }
      }.get()
      isWhole = try file.status().size == status.size && isRead
    } catch {
      throw EntryFailure(error)
    }
    guard isWhole else {
      throw EntryFailure(.unreadable, "The file was changed while it was read. Import again.")
    }
    return data
  }
}

extension EntryFailure {
  /// The failure for a system error on an entry's file.
  init(_ error: SystemError) {
    switch error.finding {
    case .name: self.init(.foreignName, "\(error)")
    case .kind, .names: self.init(.notAFile, "\(error)")
    case .tooLarge: self.init(.tooLarge, "\(error)")
    case nil:
      let remedy = error.errno == EACCES || error.errno == EPERM ? " Give this user read access." : ""
      self.init(.unreadable, "\(error).\(remedy)")
    }
  }
}

/// Data from object stores: `NSKeyedArchiver` archives, unless the program used another form.
enum ArchivedData {
  /// Scalars become values; other archives are stored unchanged.
  ///
  /// - Parameter isUnarchivedByClosure: Whether the cache has a closure for other forms than keyed archives.
  /// - Throws: If the archive is damaged.
  static func value(of data: Data, isUnarchivedByClosure: Bool) throws(EntryFailure) -> ImportedValue {
    guard isPropertyList(data) else { return isUnarchivedByClosure ? .custom(data) : .bytes(data) }
    do {
      return try KeyedArchive.scalar(of: data).map { .plain($0) } ?? .keyedArchive(data)
    } catch {
      if isUnarchivedByClosure { return .custom(data) }
      throw EntryFailure(.damagedValue, "The value looks like an archive, and cannot be read: \(error)")
    }
  }

  /// Whether it begins like a property list, the form of archives.
  private static func isPropertyList(_ data: Data) -> Bool {
    ["bplist", "<?xml", "<plist", "<!DOCTYPE plist"].contains { data.starts(with: $0.utf8) }
  }
}
