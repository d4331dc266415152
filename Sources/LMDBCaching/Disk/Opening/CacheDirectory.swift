import LMDB
import Platform

/// The directory of a cache, held open, and whether it is one.
///
/// Nothing in a directory is deleted or written over that is not this package's by name and by what it begins with. A
/// directory that has neither been empty nor a cache is refused, and so is one in which a link, a FIFO or somebody's file
/// stands in the place of one of the cache's. Whatever else lies in a cache's directory is left alone.
struct CacheDirectory: Sendable {
  static let dataName = "data.mdb"
  static let lockName = "lock.mdb"
  /// What a data file is called that somebody has cut off while it was open. It is kept for who wants to know.
  static let truncatedName = "data.mdb.truncated"

  let directory: Directory

  /// Opens a directory, and makes it first if there is none.
  ///
  /// - Throws: `.invalidDirectory`, `.permissionDenied`, `.remoteFileSystem`, `.insecureDirectory` and others. Nothing in
  ///   a directory that is there was changed.
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

  /// - Parameter directory: One that is known to be a cache's.
  init(_ directory: Directory) { self.directory = directory }

  private func check(allowsOtherUsers: Bool) throws(CacheError) {
    let (isRemote, isOwned, isWritableByOthers) = try calling("Opening the cache directory \(directory.path)") {
      () throws(SystemError) in
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

  /// What a name in the directory turned out to be.
  private enum Finding {
    /// Of this package, by what it begins with.
    case own
    /// Named like a file of this package, and something that proves nothing and is nobody's.
    case neutral
    /// Named like a file of this package, and empty, or unreadable: in a cache, what the system had not written when it
    /// stopped.
    case blank
    /// Named like a file of this package, and something else.
    case impostor(String)
    /// Of nobody's concern.
    case stranger
    /// A database: what is in it tells.
    case database

    func replacingBlank(by finding: Finding) -> Finding { if case .blank = self { finding } else { self } }

    var isOwn: Bool { if case .own = self { true } else { false } }
  }

  /// Throws unless the directory is a cache, or has nothing in it that could be somebody's. With the ``OpeningLock`` held.
  ///
  /// - Throws: `.invalidDirectory`; `.corruptedRecord` for a database that is not a cache. Nothing was changed.
  func requireCache() throws(CacheError) {
    var isOwn = false
    var hasDatabase = false
    var strangers: [String] = []
    var blanks: [String] = []
    var impostors: [(name: String, what: String)] = []
    try calling("Looking at \(directory.path)") { () throws(SystemError) in
      if try directory.isEmpty() { return }
      let names = try directory.names()
      // A name that is not UTF-8 is none of ours.
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
      // The first that is made, and empty for a moment.
      try regular(name, ProcessRecord.isOurs).replacingBlank(by: .neutral)
    case CleanExitMark.name: try regular(name, CleanExitMark.isOurs)
    case FastSession.name, FastSession.newName: try regular(name, FastSession.isOurs)
    case Self.dataName: try plain(name, .database)
    // LMDB's, and worth nothing without the data file.
    case Self.lockName:
      // In a cache it may be anything after a power cut: LMDB makes it anew. One that this process has open is not opened.
      try plain(name, isLockFileOurs() ? .neutral : .blank)
    case Self.truncatedName: try plain(name, .stranger)
    case JournalName.folder: try folder(name, identifier: JournalName.identifier(of:), JournalFile.isOurs)
    case ValueFolder.name: try folder(name, identifier: ValueSegment.identifier(ofName:), ValueSegment.isOurs)
    case StatisticsFolder.name:
      // Something else there costs the statistics, and nothing more.
      try directory.kind(of: name) == .directory
        ? folder(name, identifier: StatisticsFolder.identifier(of:), StatisticsBlock.isOurs) : .stranger
    case NewDatabase.folder:
      try NewDatabase.isOurs(name, in: directory) ? .neutral : .stranger
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

  private func regular(
    _ name: String, _ isOurs: ([UInt8]) -> Bool
  ) throws(SystemError) -> Finding { try Self.regular(directory, name, isOurs) }

  /// What a file is of which its beginning says nothing.
  private func plain(_ name: String, _ finding: Finding) throws(SystemError) -> Finding {
    guard let status = try directory.status(of: name) else { return .neutral }
    guard status.kind == .regular else { return .impostor("is \(status.kind)") }
    if status.linkCount > 1 { return .impostor("has other names (hard links), and so belongs to somebody else, too") }
    return status.size == 0 ? .blank : finding
  }

  /// What a file is that has to begin in a certain way.
  private static func regular(
    _ directory: Directory, _ name: String, _ isOurs: ([UInt8]) -> Bool
  ) throws(SystemError) -> Finding {
    guard let status = try directory.status(of: name) else { return .neutral }
    guard status.kind == .regular else { return .impostor("is \(status.kind)") }
    if status.linkCount > 1 { return .impostor("has other names (hard links), and so belongs to somebody else, too") }
    guard let file = try directory.open(name) else { return .neutral }
    var beginning = [UInt8](repeating: 0, count: min(64, status.size))
    // What the device does not give proves nothing.
    guard let isWhole = try ifReadable({ () throws(SystemError) in try file.read(&beginning) }) else { return .blank }
    guard isWhole else { return .neutral }
    if isOurs(beginning) { return .own }
    // The system had not written it when it stopped.
    return beginning.allSatisfy { $0 == 0 } ? .blank : .impostor("is not this package's")
  }

  /// What a folder is, which is this package's if any file in it is.
  ///
  /// - Parameters:
  ///   - identifier: Of a file by its name; `nil`: it is somebody's.
  ///   - isOurs: Whether a file begins as those in the folder do.
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
      switch try identifier(name) == nil ? .stranger : Self.regular(folder, name, isOurs) {
      case .own: return .own
      case .neutral, .blank: break
      default: hasStranger = true
      }
    }
    return hasStranger ? .stranger : .neutral
  }

  /// Whether the database is a cache, where nothing else tells.
  private func isCacheDatabase(orStrangersBeside strangers: [String]) throws(CacheError) -> Bool {
    let activity = "Looking at \(directory.path(of: Self.dataName))"
    switch try DatabaseExamination(directory: directory, activity: activity) {
    case .sound(_, let contents) where contents.hasMetadata: return true
    case .newerVersion: return true
    case .sound(let file, _):
      // LMDB makes an empty database before anything is written.
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

  /// Whether there is a file, or anything else, by a name.
  func exists(_ name: String) throws(SystemError) -> Bool { try directory.kind(of: name) != nil }

  /// Whether it has no name any more.
  func isDeleted() throws(SystemError) -> Bool { try directory.status().linkCount == 0 }
}
