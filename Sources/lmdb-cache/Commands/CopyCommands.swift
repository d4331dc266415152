import ArgumentParser
import Foundation
import LMDBCaching

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies a cache, as of one moment, into a new directory.",
    discussion: """
      Others may use the cache meanwhile. The copy is a cache that opens normally, with nothing in its files that is not \
      in use. It is made beside its place under a name that begins with .lmdb-cache-, written to the disk and verified as \
      verify --values does; then it gets its name: so there is a whole one or none. A cache that this user may only read \
      is copied as well, if nobody writes to it meanwhile.

      Damaged entries are an error that names them, unless --skip-damaged is given: then the others are copied.

      Examples:
        lmdb-cache backup /backups/thumbnails-monday --cache thumbnails
        lmdb-cache restore /backups/thumbnails-monday --cache thumbnails

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: ArgumentHelp("A new directory, or an empty one.", valueName: "dir"), completion: .directory)
  var destination: String
  @Flag(help: "Leaves damaged entries out, and tells which.") var skipDamaged = false
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let interruption = Interruption()
    let bar = CopyProgress()
    defer { bar.end() }
    var options = CacheCopying.Options()
    options.skipsDamaged = skipDamaged
    options.progress = { bar.show($0) }
    options.isCancelled = { interruption.hasHappened }
    guard let report = try backUp(options, bar) else { throw ToolError(.interrupted, "interrupted") }
    bar.end()
    for error in report.damage { StandardError.tell(error.message) }
    let summary = CopySummary(directory: URL(fileURLWithPath: destination).path, report)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.text)
    if report.damagedEntries > 0 {
      throw ToolError(
        .damaged, "\(Formatting.grouped(report.damagedEntries)) of the entries are damaged, and are left out")
    }
  }

  private func backUp(_ options: CacheCopying.Options, _ bar: CopyProgress) throws -> BackupReport? {
    let url = URL(fileURLWithPath: destination)
    do {
      return try option.withExisting { cache, _ in
        bar.total = try cache.count
        return try cache.backUp(to: url, options)
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
    commandName: "restore",
    abstract: "Puts a copy of a backup in the place of a cache.",
    discussion: """
      The backup is verified first, and only read. Its copy is made beside the cache, verified, and takes the cache's \
      place in one step, which needs the cache closed: it is refused if a process has it open. The cache that was there \
      gets another name, which is told; with --replace it is removed once the copy is in its place. Without a cache the \
      copy becomes one.

      Example:
        lmdb-cache restore /backups/thumbnails-monday --cache thumbnails

      \(ExitStatus.explanation)
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
    let bar = CopyProgress()
    defer { bar.end() }
    var options = CacheCopying.Options()
    options.progress = { bar.show($0) }
    options.isCancelled = { interruption.hasHappened }
    bar.total = try reader.figures().entries
    let report = try CacheRestoration.run(from: reader, to: directory, removingFormer: replace, options)
    guard let report else { throw ToolError(.interrupted, "interrupted; the cache is as it was") }
    bar.end()
    for notice in report.notices { StandardError.tell(notice) }
    let summary = CopySummary(directory: directory.path, report.backup, former: report.former?.path)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.text)
  }
}

/// The output of `backup` and `restore`.
struct CopySummary: Encodable {
  let directory: String
  let entries: Int
  let bytes: Int
  let damagedEntries: Int
  /// The new place of the cache that was there before.
  let former: String?

  init(directory: String, _ report: BackupReport, former: String? = nil) {
    self.directory = directory
    self.former = former
    entries = report.entries
    bytes = report.bytes
    damagedEntries = report.damagedEntries
  }

  var text: String {
    var table = TextTable([.left, .right])
    table.append(["entries", Formatting.grouped(entries)])
    table.append(["bytes", Formatting.bytes(bytes)])
    return table.text + (former.map { "The cache that was there is now \(Formatting.key($0))\n" } ?? "")
  }
}
