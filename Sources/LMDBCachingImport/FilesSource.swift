import Foundation
import LMDBCaching
import Platform

/// The regular files in a directory tree, with their paths as keys. Links are not followed.
struct FilesSource: EntrySource {
  /// Deeper directories are refused; each level takes a descriptor.
  private static let greatestDepth = 64

  private struct Level {
    let directory: Directory
    /// The prefix of its files' paths.
    let prefix: String
    /// Remaining names, the next one last.
    var names: [String]
    var unreadable: [String]
  }

  private let context: SourceContext
  private var levels: [Level] = []
  private var current: (directory: Directory, name: String)?

  var count: Int? { nil }

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    self.context = context
    let (level, cache) = try reading(path) { () throws(SystemError) in
      (
        try Self.level(Directory(path: path), prefix: ""),
        try context.cacheDirectory.flatMap(Directory.identity(ofPath:))
      )
    }
    if level.directory.identity == cache {
      throw ImportError(
        .invalidArgument, "\(path) is the cache that is imported into. Give the directory of the files.")
    }
    levels.append(level)
  }

  private static func level(_ directory: Directory, prefix: String) throws(SystemError) -> Level {
    var unreadable: [String] = []
    try directory.forEachUnreadableName { unreadable.append($0) }
    return Level(
      directory: directory, prefix: prefix, names: try directory.names().sorted(by: >), unreadable: unreadable)
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    while let last = levels.indices.last {
      if let name = levels[last].unreadable.popLast() {
        return .refused(
          ImportRefusal(key: levels[last].prefix + name, EntryFailure(.unreadableKey, "The name is no UTF-8.")))
      }
      guard let name = levels[last].names.popLast() else {
        levels.removeLast()
        continue
      }
      let key = levels[last].prefix + name
      do throws(EntryFailure) {
        if let entry = try entry(name, key, in: levels[last].directory) { return .entry(entry) }
      } catch {
        return .refused(ImportRefusal(key: key, error))
      }
    }
    return nil
  }

  /// Returns `nil` for a directory, which is visited next, and for a missing file.
  private mutating func entry(
    _ name: String, _ key: String, in directory: Directory
  ) throws(EntryFailure) -> SourceEntry? {
    let status: FileStatus?
    let cache: FileIdentity?
    do throws(SystemError) {
      status = try directory.status(of: name)
      cache = try status?.kind == .directory ? context.cacheDirectory.flatMap(Directory.identity(ofPath:)) : nil
    } catch {
      throw EntryFailure(error)
    }
    guard let status else { return nil }
    switch status.kind {
    case .regular:
      current = (directory, name)
      return SourceEntry(key: key, created: status.modified, lastAccess: status.modified)
    case .directory:
      // Skip the cache being written.
      if status.identity == cache { return nil }
      guard levels.count < Self.greatestDepth else {
        throw EntryFailure(
          .unreadable,
          "It is a directory, and \(Self.greatestDepth) others are above it: what is in it was not taken. Import it by "
            + "itself.")
      }
      do throws(SystemError) {
        if let below = try directory.subdirectory(name) { levels.append(try Self.level(below, prefix: key + "/")) }
      } catch {
        throw EntryFailure(error)
      }
      return nil
    default: throw EntryFailure(.notAFile, "It is \(status.kind), and was not opened.")
    }
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    guard let (directory, name) = current else { preconditionFailure("There is no entry yet.") }
    return .bytes(try SourceFile.value(of: name, in: directory, limit: context.maximumValueSize))
  }
}
