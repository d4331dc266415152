import ArgumentParser
import Foundation
import LMDBCaching
import LMDBCachingImport

/// `import PATH`
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Takes the entries of another store into a cache.",
    discussion: """
      The path is, for yycache the directory with manifest.sqlite, for mmkv a file that has one beside it which ends in \
      .crc, for pincache the directory com.pinterest.PINDiskCache.NAME, for files a directory, whose files become \
      entries with their paths as keys, and for userdefaults a property list, or the name of user defaults. It is only \
      read. End the program that uses it before.

      What the cache has under a key stays, unless --overwrite is given: so an import that was interrupted goes on when \
      it is run again. What cannot be taken is listed, and does not end it. The cache is created if it is not there.

      MMKV does not say what its values are. Give it with --types: \(MMKVTypeList.names); other values become the bytes \
      that are in the file.

      Examples:
        lmdb-cache import ~/old/thumbnails --from yycache --cache ./thumbnails
        lmdb-cache import mmkv.default --from mmkv --types 'launches=int32,draft:*=string' --cache ./demo

      Exits with 65 if something was not taken, links and other things that are no files aside.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: "What to import.", completion: .file()) var path: String
  @Option(help: "What it is.") var from: ImportFormat
  @Option(help: ArgumentHelp("What is put in front of each key.", valueName: "text")) var prefix = ""
  @Option(help: ArgumentHelp("Types of MMKV's values by their keys.", valueName: "key=type,…"))
  var types: MMKVTypeList?
  @Flag(help: "Replaces entries that the cache has under the same keys.") var overwrite = false
  @Flag(help: "Tells what would be taken, and stores nothing.") var dryRun = false
  @Flag(help: "Writes an object.") var json = false
  @Option(help: "What a write promises, when the cache is created; one that exists keeps its own. (default: ordered)")
  var durability: Durability?

  func validate() throws {
    if types != nil, from != .mmkv { throw ValidationError("--types is for --from mmkv.") }
  }

  func run() throws {
    let interruption = Interruption()
    var options = ImportOptions()
    options.keyPrefix = prefix
    options.existing = overwrite ? .replaced : .kept
    let directory = try CacheLocation.directory(option.cache)
    // First: what cannot be read leaves no new cache behind.
    var work = try ImportRun(
      from: from.source(path, types: types?.types ?? MMKVTypes()), options, intoCacheAt: directory.path,
      isUnarchivedByClosure: false)
    let bar = ProgressBar()
    let start = Platform.nanoseconds()
    let progress: (ImportProgress) -> Void = { progress in
      bar?.show(progress.report.examined, of: progress.total, nanoseconds: Platform.nanoseconds() - start)
    }
    let result = Result {
      try opening(directory) { cache in
        defer { bar?.clear() }
        return try work.run(into: cache, nil, storing: !dryRun, progress) { interruption.hasHappened }
      }
    }
    try conclude(result)
  }

  /// Calls `body` with the cache, which is closed afterwards; without one where there is none, and none is to be made.
  private func opening(_ directory: URL, _ body: (DiskCache?) throws -> ImportReport) throws -> ImportReport {
    guard dryRun else { return try option.withExistingOrNew(durability: durability, body) }
    if Platform.statusError(ofFileAt: directory.path + "/data.mdb") == ENOENT { return try body(nil) }
    return try option.withExisting { cache, _ in try body(cache) }
  }

  private func conclude(_ result: Result<ImportReport, any Error>) throws {
    switch result {
    case .success(let report):
      try write(report)
      if !report.isComplete {
        StandardError.write("lmdb-cache: interrupted; run the same command again to go on\n")
        throw ExitStatus.interrupted.code
      }
      let rest = report.refusalCounts.filter { $0.key != .notAFile && $0.key != .extendedData }.values.reduce(0, +)
      if rest > 0 { throw ToolError(.dataError, "not everything was taken: \(Formatting.grouped(rest)) failed") }
    case .failure(let error):
      if let report = (error as? ImportError)?.report, report.examined > 0 { try write(report) }
      throw error
    }
  }

  private func write(_ report: ImportReport) throws {
    let summary = ImportSummary(report)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.text)
  }
}
