import ArgumentParser
import Foundation
import LMDBCaching

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "backup", "Copies a cache, as of one moment, into a new directory.",
    """
    Others may use the cache during the copy. The copy is a cache without unused space. It is written, synchronized and \
    verified under a temporary name that begins with .lmdb-cache-, and renamed when it is complete. A cache that this \
    user may only read can be copied while nobody writes to it.

    A damaged entry is an error, unless --skip-damaged is given.

    Examples:
      lmdb-cache backup /backups/thumbnails-monday --cache thumbnails
      lmdb-cache restore /backups/thumbnails-monday --cache thumbnails
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: ArgumentHelp("A new directory, or an empty one.", valueName: "dir"), completion: .directory)
  var destination: String
  @Flag(help: "Leaves damaged entries out, and tells which.") var skipDamaged = false
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let interruption = Interruption()
    let bar = Progress()
    defer { bar.end() }
    var options = CacheCopying.Options()
    options.skipsDamaged = skipDamaged
    options.progress = { bar.show($0) }
    options.isCancelled = { interruption.hasHappened }
    guard let report = try backUp(options, bar) else { throw ToolError(.interrupted, "interrupted") }
    bar.end()
    for error in report.damage { StandardError.tell(error.message) }
    try Report(report, in: URL(fileURLWithPath: destination)).write(json: json)
    if report.damagedEntries > 0 {
      throw ToolError(
        .damaged, "\(Formatting.grouped(report.damagedEntries)) of the entries are damaged, and are left out")
    }
  }

  private func backUp(_ options: CacheCopying.Options, _ bar: Progress) throws -> BackupReport? {
    let url = URL(fileURLWithPath: destination)
    do {
      return try option.withExisting { cache, _ in
        bar.total = try cache.count
        return try CacheCopying.backUp(cache, to: url, options)
      }
    } catch let error as CacheError where Self.isOfReading(error) {
      // It may be another user's cache, which opening would have to write.
      return try option.withReader { reader in
        bar.total = try reader.figures().entries
        return try CacheCopying.backUp(reader, to: url, options)
      }
    }
  }

  private static func isOfReading(_ error: CacheError) -> Bool {
    [.readOnlyFileSystem, .permissionDenied, .insecureDirectory].contains(error.code)
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "restore", "Puts a copy of a backup in the place of a cache.",
    """
    Verifies the backup, copies it, verifies the copy, and then replaces the cache in one step, which fails while a \
    process has it open. The former cache gets another name; --replace removes it.

    Example:
      lmdb-cache restore /backups/thumbnails-monday --cache thumbnails
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: ArgumentHelp("The backup, or any other cache.", valueName: "dir"), completion: .directory)
  var source: String
  @Flag(help: "Removes the cache that was there.") var replace = false
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let interruption = Interruption()
    let backup = URL(fileURLWithPath: source)
    let directory = try CacheLocation.directory(option.cache)
    let reader = try CacheOpening.reader(at: backup)
    let bar = Progress()
    defer { bar.end() }
    var options = CacheCopying.Options()
    options.progress = { bar.show($0) }
    options.isCancelled = { interruption.hasHappened }
    bar.total = try reader.figures().entries
    let report = try CacheRestoration.run(from: reader, to: directory, removingFormer: replace, options)
    guard let report else { throw ToolError(.interrupted, "interrupted; the cache is as it was") }
    bar.end()
    for notice in report.notices { StandardError.tell(notice) }
    try Report(report.backup, in: directory, former: report.former).write(json: json)
  }
}

extension Report {
  /// A copy of a cache.
  ///
  /// - Parameter former: The new place of the cache that was there before.
  fileprivate init(_ report: BackupReport, in directory: URL, former: URL? = nil) {
    self.init(.right)
    add("directory", directory.path)
    add("entries", report.entries, "entries")
    add("bytes", report.bytes, "bytes", Formatting.bytes(report.bytes))
    add("damagedEntries", report.damagedEntries)
    add("former", former?.path)
    if let former { notes = "The cache that was there is now \(Formatting.key(former.path))\n" }
  }
}
