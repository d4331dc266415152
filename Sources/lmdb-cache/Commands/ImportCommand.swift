import ArgumentParser
import Foundation
import LMDBCaching
import LMDBCachingImport

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "import", "Takes what export wrote, or the entries of another store, into a cache.",
    """
    Without --from, the path is a file that export wrote, or - for standard input. Values, formats, times, costs, tags \
    and flags are kept. An error names the line, or the byte of the item, and ends the import.

    With --from, it is the directory with manifest.sqlite for yycache, a file with one beside it that ends in .crc for \
    mmkv, the directory com.pinterest.PINDiskCache.NAME for pincache, a directory whose files become entries for files, \
    and a property list or the name of user defaults for userdefaults. It is only read; end the program that uses it \
    first. Values that cannot be imported are listed. MMKV does not store types; give them with --types: \
    \(MMKVTypeList.names). Other values become bytes.

    Existing entries are kept, unless --overwrite is given, so an interrupted import can be repeated. Expired entries \
    are skipped. The cache is created if it is missing.

    Examples:
      lmdb-cache export --cache ./old | lmdb-cache import - --cache ./new --prefix old:
      lmdb-cache import ~/old/thumbnails --from yycache --cache ./thumbnails
      lmdb-cache import mmkv.default --from mmkv --types 'launches=int32,draft:*=string' --cache ./demo

    Exits with 65 if something was not imported, except for links and other special files.
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: "What to import.", completion: .file()) var path: String
  @Option(help: "What it is. (default: what export wrote)") var from: ImportFormat?
  @Option(help: ArgumentHelp("What is put in front of each key.", valueName: "text")) var prefix = ""
  @Option(help: ArgumentHelp("Types of MMKV's values by their keys.", valueName: "key=type,…"))
  var types: MMKVTypeList?
  @Flag(help: "Replaces entries that the cache has under the same keys.") var overwrite = false
  @Flag(help: "Tells what would be taken, and stores nothing.") var dryRun = false
  @Flag(help: "Writes an object.") var json = false
  @Option(
    help: """
      What a write promises, when the cache is created; one that exists keeps its own. (default: as the cache that was \
      exported, or ordered)
      """)
  var durability: Durability?

  func validate() throws { if types != nil, from != .mmkv { throw ValidationError("--types is for --from mmkv.") } }

  func run() throws {
    let interruption = Interruption()
    if let source = from?.source(path, types: types?.types ?? MMKVTypes()) {
      try importStore(source, interruption)
    } else {
      try importExport(interruption)
    }
  }

  /// Calls `body` with the cache and closes it; without one if there is none and none should be created.
  private func opening<R>(
    _ directory: URL, otherwise preferred: Durability? = nil, _ body: (LMDBCache?) throws -> R
  ) throws -> R {
    guard dryRun else {
      return try option.withExistingOrNew(durability: durability, otherwise: preferred, body)
    }
    if Platform.statusError(ofFileAt: directory.path + "/data.mdb") == ENOENT { return try body(nil) }
    return try option.withExisting { cache, _ in try body(cache) }
  }

  private func requireComplete(_ report: ImportReport) throws {
    if report.isComplete { return }
    StandardError.tell("interrupted; run the same command again to go on")
    throw ExitStatus.interrupted.code
  }

  // MARK: What export wrote

  private func importExport(_ interruption: Interruption) throws {
    let directory = try CacheLocation.directory(option.cache)
    // Opened first, so that an unreadable input leaves no new cache behind.
    let reader = try ExchangeReader(path: path, format: from?.exchange)
    let progress = Progress()
    defer { progress.end() }
    var report = ImportReport()
    let result = Result {
      try opening(directory, otherwise: reader.durability) { cache in
        var work = ExchangeImport(into: cache, isDryRun: dryRun, overwrites: overwrite)
        defer { report = work.report }
        try work.run(reader, prefix: prefix, progress: progress) { interruption.hasHappened }
      }
    }
    progress.end()
    if case .failure = result, report.examined == 0 { try result.get() }
    try Report(report).write(json: json)
    try result.get()
    try requireComplete(report)
    if reader.unreadable > 0 {
      StandardError.tell(
        "\(Formatting.grouped(reader.unreadable)) more could not be read when it was exported")
    }
  }

  // MARK: Other stores

  private func importStore(_ source: ImportSource, _ interruption: Interruption) throws {
    var options = ImportOptions()
    options.keyPrefix = prefix
    options.existing = overwrite ? .replaced : .kept
    let directory = try CacheLocation.directory(option.cache)
    // Opened first, so that an unreadable input leaves no new cache behind.
    var work = try ImportRun(
      from: source, options, intoCacheAt: directory.path, isUnarchivedByClosure: false)
    let bar = Progress()
    let progress: (ImportProgress) -> Void = { progress in
      if bar.total != progress.total { bar.total = progress.total }
      bar.show(progress.report.examined)
    }
    let result = Result {
      try opening(directory) { cache in
        defer { bar.end() }
        return try work.run(into: cache, storing: !dryRun, progress) { interruption.hasHappened }
      }
    }
    try conclude(result)
  }

  private func conclude(_ result: Result<ImportReport, any Error>) throws {
    switch result {
    case .success(let report):
      try Report(report).write(json: json)
      try requireComplete(report)
      let rest = report.refusalCounts.filter { $0.key != .notAFile && $0.key != .extendedData }.values.reduce(0, +)
      if rest > 0 { throw ToolError(.dataError, "not everything was taken: \(Formatting.grouped(rest)) failed") }
    case .failure(let error):
      if let report = (error as? ImportError)?.report, report.examined > 0 { try Report(report).write(json: json) }
      throw error
    }
  }
}

enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case yycache, mmkv, files, userdefaults, pincache, jsonl, cbor

  /// The format of an export; `nil` for other stores.
  var exchange: ExchangeFormat? { ExchangeFormat(rawValue: rawValue) }

  /// The source at a path, or the user defaults with this name; `nil` for exports.
  func source(_ path: String, types: MMKVTypes) -> ImportSource? {
    let url = URL(fileURLWithPath: path)
    return switch self {
    case .yycache: .yyCache(directory: url)
    case .mmkv: .mmkv(file: url, types: types)
    case .files: .files(in: url)
    case .pincache: .pinCache(directory: url)
    case .jsonl, .cbor: nil
    case .userdefaults:
      path.contains("/") || path.hasSuffix(".plist") ? .userDefaults(file: url) : .userDefaults(named: path)
    }
  }
}

extension Report {
  private struct Refusal: Encodable {
    let key, reason, message: String
  }

  fileprivate init(_ report: ImportReport) {
    self.init(.right)
    add("examined", report.examined)
    add("taken", report.taken, report.isDryRun ? "would be taken" : "taken")
    add("takenBytes", report.takenBytes, "  bytes")
    add("present", report.present, "already there")
    add("expired", report.expired, "expired")
    add("refused", report.refused, "not taken")
    add("isComplete", report.isComplete)
    add("isDryRun", report.isDryRun)
    let counts = Dictionary(uniqueKeysWithValues: report.refusalCounts.map { ("\($0.key)", $0.value) })
    add("refusalCounts", counts)
    add("refusals", report.refusals.map { Refusal(key: $0.key, reason: "\($0.reason)", message: $0.message) })
    notes = report.refusals.map {
      "\($0.key.isEmpty ? "" : Formatting.key($0.key) + ": ")\(Formatting.line($0.message))\n"
    }.joined()
    let more = counts.values.reduce(0, +) - report.refusals.count
    if more > 0 { notes += "… and \(Formatting.grouped(more)) more like these\n" }
  }
}

/// The argument of `--types`: `launches=int32,draft:*=string`. A backslash escapes a comma, asterisk or backslash.
struct MMKVTypeList: ExpressibleByArgument {
  static let names = MMKVType.allCases.map(\.rawValue).joined(separator: ", ")

  let types: MMKVTypes

  init?(argument: String) {
    var types = MMKVTypes()
    for part in Self.parts(argument) {
      guard let equals = part.lastIndex(where: { $0.scalar == "=" }),
        let type = MMKVType(rawValue: Self.text(part[(equals + 1)...]))
      else { return nil }
      let pattern = part[..<equals]
      if let last = pattern.last, last.scalar == "*", !last.isLiteral {
        types.set(type, for: Self.text(pattern))
      } else {
        types.set(type, forKey: Self.text(pattern))
      }
    }
    self.types = types
  }

  /// A scalar, not a character, which might combine a comma or asterisk with a letter.
  private struct Letter {
    let scalar: Unicode.Scalar
    let isLiteral: Bool
  }

  private static func text(_ letters: ArraySlice<Letter>) -> String {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: letters.map(\.scalar))
    return String(scalars)
  }

  /// Splits at unescaped commas.
  private static func parts(_ argument: String) -> [[Letter]] {
    var parts: [[Letter]] = [[]]
    var isLiteral = false
    for scalar in argument.unicodeScalars {
      switch scalar {
      case "\\" where !isLiteral:
        isLiteral = true
        continue
      case "," where !isLiteral: parts.append([])
      default: parts[parts.count - 1].append(Letter(scalar: scalar, isLiteral: isLiteral))
      }
      isLiteral = false
    }
    return parts
  }
}
