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
        bar.total = try cache.entryCount()
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
