import LMDB
import Platform

/// An open cache directory, and the checks that it is one.
///
/// Only files that this package recognizes by name and header are deleted or overwritten. A directory that is neither
/// empty nor a cache is refused; so is one with a link, a FIFO or a foreign file under the name of a cache file.
/// Unrelated files are left alone.
struct CacheDirectory: Sendable {
  static let dataName = "data.mdb"
  static let lockName = "lock.mdb"
  /// The name given to a data file that was truncated while open. It is kept for diagnosis.
  static let truncatedName = "data.mdb.truncated"

  let directory: Directory

  /// Opens a directory, creating it if it is missing. Changes nothing in an existing one.
  ///
  /// - Throws: `.invalidDirectory`, `.permissionDenied`, `.remoteFileSystem`, `.insecureDirectory` and others.
  init(path: String, allowsOtherUsers: Bool) throws(CacheError) {
    do throws(SystemError) {
      directory = try Directory(path: path, creating: true, synchronized: true)
    } catch {
      if error.finding != nil || [ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP, EEXIST, EISDIR].contains(error.errno) {
        throw CacheError(
          .invalidDirectory, "\(path) cannot be a cache directory. Give the path of a directory or of a new one.",
          underlying: error)
      }
      throw CacheError(error, during: "Opening the cache directory \(path)")
    }
    try check(allowsOtherUsers: allowsOtherUsers)
  }

  /// - Parameter directory: A known cache directory.
  init(_ directory: Directory) { self.directory = directory }

  private func check(allowsOtherUsers: Bool) throws(CacheError) {
    let (isRemote, isOwned, isWritableByOthers) = try calling("Opening the cache directory \(directory.path)") {
      try directory.checkWritable()
      return (try directory.isRemote(), try directory.isOwnedByUser(), try directory.isWritableByOthers())
    }
    if isRemote {
      throw CacheError(
        .remoteFileSystem,
        "\(directory.path) is on a remote file system, where memory maps and locks of several machines corrupt a "
          + "database. Use a directory on a local disk.")
    }
    if allowsOtherUsers { return }
    if !isOwned || isWritableByOthers {
      throw CacheError(
        .insecureDirectory,
        "\(directory.path) \(isOwned ? "can be written to by other users" : "belongs to another user"), who could replace "
          + "what is read from it. Give a directory of this user's own (chmod go-w), or set "
          + "CacheConfiguration.disk.allowsOtherUsers.")
    }
  }

  // MARK: Whether it is a cache

  private enum Finding {
    /// A file of this package, by its header.
    case own
    /// The name of a package file, with contents that prove nothing.
    case neutral
    /// The name of a package file, but empty or unreadable: in a cache, a write that a system crash interrupted.
    case blank
    /// The name of a package file, but foreign contents.
    case impostor(String)
    /// An unrelated file.
    case stranger
    /// A database, to be examined.
    case database

    func replacingBlank(by finding: Finding) -> Finding { if case .blank = self { finding } else { self } }

    var isOwn: Bool { if case .own = self { true } else { false } }
  }

  /// Throws unless the directory is a cache, or holds no foreign files. Requires the ``OpeningLock``; changes nothing.
  ///
  /// - Throws: `.invalidDirectory`; `.corruptedRecord` for a database that is not a cache.
  func requireCache() throws(CacheError) {
    var isOwn = false
    var hasDatabase = false
    var strangers: [String] = []
    var blanks: [String] = []
    var impostors: [(name: String, what: String)] = []
    try calling("Looking at \(directory.path)") {
      if try directory.isEmpty() { return }
      let names = try directory.names()
      // A name that is not UTF-8 cannot be ours.
      if names.isEmpty { strangers.append("…") }
      for name in names {
        switch try finding(name) {
        case .own: isOwn = true
        case .neutral: break
        case .blank: blanks.append(name)
        case .impostor(let what): impostors.append((name, what))
        case .stranger: strangers.append(name)
        case .database: hasDatabase = true
        }
      }
    }
    if !isOwn && hasDatabase { isOwn = try isCacheDatabase(orStrangersBeside: strangers) }
    if let (name, what) = impostors.first {
      throw CacheError(
        .invalidDirectory,
        "\(directory.path(of: name)) \(what). A cache keeps a file of its own by that name: move it away, or give another "
          + "directory. Nothing was changed.")
    }
    if isOwn { return }
    strangers += blanks
    if strangers.isEmpty { return }
    throw CacheError(
      .invalidDirectory,
      "\(directory.path) is not a cache, and not empty: it holds \(Self.list(strangers)). Give a directory of its own; "
        + "nothing was changed.")
  }

  private static func list(_ names: [String]) -> String {
    names.sorted().prefix(3).map(quoted).joined(separator: ", ") + (names.count > 3 ? " and more" : "")
  }

  private func finding(_ name: String) throws(SystemError) -> Finding {
    switch name {
    case ProcessLock.name:
      // Created first, and empty for a moment.
      try regular(name, ProcessRecord.isOurs).replacingBlank(by: .neutral)
    case CleanExitMark.name: try regular(name, CleanExitMark.isOurs)
    case FastSession.name, FastSession.newName: try regular(name, FastSession.isOurs)
    case Self.dataName: try plain(name, .database)
    // LMDB's lock file is worthless without the data file.
    case Self.lockName:
      // A power cut may leave garbage, which LMDB rewrites. Do not open it if this process already has it open.
      try plain(name, isLockFileOurs() ? .neutral : .blank)
    case Self.truncatedName: try plain(name, .stranger)
    case JournalName.folder: try folder(name, identifier: JournalName.identifier(of:), JournalFile.isOurs)
    case ValueFolder.name: try folder(name, identifier: ValueSegment.identifier(ofName:), ValueSegment.isOurs)
    case StatisticsFolder.name:
      // A foreign file here costs only the statistics.
      try directory.kind(of: name) == .directory
        ? folder(name, identifier: StatisticsFolder.identifier(of:), StatisticsBlock.isOurs) : .stranger
    case NewDatabase.folder:
      try NewDatabase.isOurs(in: directory) ? .neutral : .stranger
    default:
      Quarantine.number(ofName: name) == nil ? .stranger : .blank
    }
  }

  private func isLockFileOurs() throws(SystemError) -> Bool {
    let finding = try LockFile.whileClosed(in: directory) { () throws(SystemError) in
      try regular(Self.lockName, NewDatabase.isLockFile)
    }
    return finding?.isOwn ?? true
  }

  /// Classifies a file that has no recognizable header.
  private func plain(_ name: String, _ finding: Finding, in directory: Directory? = nil) throws(SystemError) -> Finding
  {
    guard let status = try (directory ?? self.directory).status(of: name) else { return .neutral }
    guard status.kind == .regular else { return .impostor("is \(status.kind)") }
    if status.linkCount > 1 { return .impostor("has other names (hard links), and so belongs to somebody else, too") }
    return status.size == 0 ? .blank : finding
  }

  /// Classifies a file by its header.
  private func regular(
    _ name: String, in directory: Directory? = nil, _ isOurs: ([UInt8]) -> Bool
  ) throws(SystemError) -> Finding {
    let finding = try plain(name, .own, in: directory)
    guard finding.isOwn else { return finding }
    guard let file = try (directory ?? self.directory).open(name) else { return .neutral }
    var beginning = [UInt8](repeating: 0, count: min(64, try file.status().size))
    // Unreadable bytes prove nothing.
    guard let isWhole = try ifReadable({ () throws(SystemError) in try file.read(&beginning) }) else { return .blank }
    guard isWhole else { return .neutral }
    if isOurs(beginning) { return .own }
    // The system crashed before it wrote the contents.
    return beginning.allSatisfy { $0 == 0 } ? .blank : .impostor("is not this package's")
  }

  /// Classifies a folder, which belongs to this package if any file in it does.
  ///
  /// - Parameters:
  ///   - identifier: Parses a file's name; `nil` means a foreign file.
  ///   - isOurs: Recognizes a file's header.
  private func folder(
    _ name: String, identifier: (String) -> UInt64?, _ isOurs: ([UInt8]) -> Bool
  ) throws(SystemError) -> Finding {
    let kind = try directory.kind(of: name)
    guard kind == .directory, let folder = try directory.subdirectory(name) else {
      return kind == nil ? .neutral : .impostor("is \(kind!)")
    }
    if try folder.isEmpty() { return .neutral }
    var hasStranger = false
    for name in try folder.names() {
      switch try identifier(name) == nil ? .stranger : regular(name, in: folder, isOurs) {
      case .own: return .own
      case .neutral, .blank: break
      default: hasStranger = true
      }
    }
    return hasStranger ? .stranger : .neutral
  }

  /// Whether the database is a cache, when nothing else proves it.
  private func isCacheDatabase(orStrangersBeside strangers: [String]) throws(CacheError) -> Bool {
    let activity = "Looking at \(directory.path(of: Self.dataName))"
    switch try DatabaseExamination(directory: directory, activity: activity) {
    case .sound(_, let contents) where contents.hasMetadata: return true
    case .newerVersion: return true
    case .sound(let file, _):
      // LMDB creates an empty database before the first write.
      if file == nil || file?.entries == 0 && strangers.isEmpty { return strangers.isEmpty }
      throw Self.notACache(directory, "it has no record of a cache")
    case .damaged(let finding): throw Self.notACache(directory, finding.description)
    case .wrongContents(let reason): throw Self.notACache(directory, reason)
    }
  }

  static func notACache(_ directory: Directory, _ finding: String) -> CacheError {
    CacheError(
      .corruptedRecord,
      "\(directory.path(of: dataName)) is not a database of this package, or it is damaged: \(finding). Give another "
        + "directory, or remove this one; nothing was changed.")
  }

  // MARK: Its files

  func exists(_ name: String) throws(SystemError) -> Bool { try directory.kind(of: name) != nil }

  /// Whether the directory has been unlinked.
  func isDeleted() throws(SystemError) -> Bool { try directory.status().linkCount == 0 }
}

/// The cache's contents, gathered while the database's structure is verified.
final class CacheContents {
  private var metadata: CacheMetadata.Reading?
  private var digest: UInt64 = 0
  private var count = 0
  /// Whether to verify the checksum of each record that fits in a tree page.
  private let checksRecords: Bool
  private(set) var damagedRecords = 0

  init(checksRecords: Bool = false) { self.checksRecords = checksRecords }

  func note(_ key: UnsafeRawBufferPointer, _ value: DataFileValue) {
    let (key, record) = unsafe (ByteView(key), ByteView(value.beginning))
    if key.first == DatabaseKey.reservedMarker {
      if key.elementsEqual(CacheMetadata.key) { metadata = CacheMetadata.read(record) }
      return
    }
    count += 1
    digest &+= RecordHeader.digest(of: record)
    if checksRecords, record.count == value.size, !isIntact(key, record) { damagedRecords += 1 }
  }

  private func isIntact(_ key: ByteView, _ record: ByteView) -> Bool {
    guard let header = RecordHeader(record) else { return record.count > 4 && record[4] > RecordHeader.version }
    guard let cacheKey = DatabaseKey.key(ofDatabaseKey: key, record: record, header: header) else { return false }
    return header.isIntact(record, key: cacheKey)
  }

  var hasMetadata: Bool { if case .metadata? = metadata { true } else { false } }

  enum Judgement {
    case sound
    /// A newer version; the opening refuses it.
    case other
    case damaged(String)
  }

  var judgement: Judgement {
    switch metadata {
    case .none:
      // A new database, before its first transaction.
      return count == 0 ? .sound : .damaged("the cache's own record is missing")
    case .newerVersion: return .other
    case .corrupted: return .damaged("the cache's own record is damaged")
    case .metadata(let metadata):
      return metadata.digest == digest ? .sound : .damaged("the entries are not those of the last transaction")
    }
  }
}

struct StorePlace: Sendable {
  var directory: Directory
  var processLock: ProcessLock
  /// The greatest size seen for the database file, which LMDB never shrinks.
  var dataSize: Int
}

/// The files that are no longer where the store opened them.
struct StoreDisplacement: OptionSet {
  let rawValue: Int

  /// The directory was unlinked.
  static let directory = StoreDisplacement(rawValue: 1)
  static let data = StoreDisplacement(rawValue: 2)
  static let lockFile = StoreDisplacement(rawValue: 4)
  static let processLock = StoreDisplacement(rawValue: 8)
  static let journal = StoreDisplacement(rawValue: 16)
  /// The database file is in place, but shorter than before.
  static let isTruncated = StoreDisplacement(rawValue: 32)

  var names: String {
    let names: [(StoreDisplacement, String)] = [
      (.directory, "directory"), (.data, CacheDirectory.dataName), (.lockFile, CacheDirectory.lockName),
      (.processLock, ProcessLock.name), (.journal, "journal"), (.isTruncated, "\(CacheDirectory.dataName) truncated"),
    ]
    return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

/// The open files of a store that are no longer in place.
struct DisplacedFiles {
  let files: EnvironmentFiles
  let displacement: StoreDisplacement
  /// Its process lock, if that is in place.
  let processLock: ProcessLock?
  /// The identifier of its journal, if any.
  let journal: UInt64?
  /// The base of its stamps (``StampClock``).
  let stampBase: UInt64
}
