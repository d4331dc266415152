import ArgumentParser
import Foundation
import LMDBCaching

struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "get", "Writes the value under a key to standard output.",
    """
    Writes strings and bytes as they are. Writes numbers, booleans, dates, UUIDs and arrays of numbers as one line of \
    text, Codable values and archived objects in CBOR's diagnostic notation (RFC 8949, section 8), and archives of \
    NSKeyedArchiver in a similar notation. --raw writes the stored bytes.

    Does not write binary data to a terminal without --raw.

    Example:
      lmdb-cache get user:42 --cache ./demo

    Exits with 1 if there is no such key, or its entry has expired.
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: "The key.") var key: String
  @Flag(help: "Write the stored bytes, whatever the format.") var raw = false

  func run() throws {
    guard let output = try option.withReader({ reader in try output(from: reader) }) else {
      StandardError.tell("there is no entry under \(Formatting.key(key))")
      throw ExitStatus.negative.code
    }
    if !raw, Platform.standardOutputIsTerminal, !VisibleText.isText(output) {
      throw ToolError(
        .dataError,
        "the value, \(Formatting.grouped(output.count)) bytes, is no text: redirect it to a file, or give --raw")
    }
    try StandardOutput.write(output)
  }

  private func output(from reader: CacheReader) throws -> Data? {
    guard let record = try reader.record(forKey: key) else { return nil }
    if !raw, let value = try ValueText(of: record, in: reader) {
      if value.isCut {
        StandardError.tell("the value is too long to be shown whole; --raw writes all of it")
      }
      return Data((value.text + "\n").utf8)
    }
    return try reader.archive(of: record)
  }
}

struct SetCommand: ParsableCommand {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case string, bytes
  }

  static let configuration = CommandConfiguration(
    "set", "Stores a value under a key, in place of the one that is there.",
    """
    The value is an argument, a file (--file) or standard input (-). An argument is stored as a string, a file as \
    bytes, unless --format says otherwise. The cache is created if it is missing. The value is committed when the \
    command returns. Keys and values that begin with a dash come last, after --.

    Examples:
      lmdb-cache set greeting hello --cache ./demo
      gzip -c index.html | lmdb-cache set / - --expires 60 --cache ./demo
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: "The key.") var key: String
  @Argument(help: "The value; - reads it from standard input.") var value: String?
  @Option(help: ArgumentHelp("Reads the value from a file.", valueName: "path"), completion: .file()) var file: String?
  @Option(help: ArgumentHelp("Seconds until the entry expires. (default: never)", valueName: "seconds"))
  var expires: Double?
  @Option(help: ArgumentHelp("What the entry counts for against cost limits. (default: its bytes)", valueName: "n"))
  var cost: Int?
  @Option(help: "A tag that rm --tag removes the entry by; more than one by giving this again.") var tag: [String] = []
  @Option(help: "What the value is stored as.") var format: Format?
  @Option(help: "What a write promises, when the cache is created; one that exists keeps its own. (default: ordered)")
  var durability: Durability?

  func validate() throws {
    if (value == nil) == (file == nil) { throw ValidationError("Give a value, or --file, and not both.") }
    if let expires, !(expires > 0 && expires < 1e10) {
      throw ValidationError("--expires is a number of seconds greater than 0.")
    }
    if let cost, cost < 0 { throw ValidationError("--cost is 0 or more.") }
  }

  func run() throws {
    let input = try input()
    let expiry = expires.map { Expiry.after(.seconds($0)) } ?? .never
    try option.withExistingOrNew(durability: durability) { cache in
      switch input {
      case .string(let text): try cache.set(text, forKey: key, expires: expiry, cost: cost, tags: tag)
      case .bytes(let data): try cache.set(data, forKey: key, expires: expiry, cost: cost, tags: tag)
      }
    }
  }

  private enum Input {
    case string(String)
    case bytes(Data)
  }

  private func input() throws -> Input {
    if let value, value != "-" {
      return format == .bytes ? .bytes(Data(value.utf8)) : .string(value)
    }
    let data = try InputFile.contents(of: file ?? "-")
    guard format == .string else { return .bytes(data) }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw ToolError(.dataError, "the input is not UTF-8; store it with --format bytes")
    }
    return .string(text)
  }
}

struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "rm", "Removes entries by their keys, or all whose keys start with a prefix or that have a tag.",
    """
    Examples:
      lmdb-cache rm user:42 user:43 --cache ./demo
      lmdb-cache rm --prefix session: --cache ./demo
      lmdb-cache rm --tag news --cache ./demo

    Exits with 1 if one of the keys was not there, or no key starts with the prefix, or no entry has the tag; the
    others are removed.
    """)

  @OptionGroup var option: CacheOption
  @Argument(help: "The keys.") var keys: [String] = []
  @Option(help: "Removes every entry whose key starts with this, byte for byte.") var prefix: String?

  @Option(help: "Removes every entry that was stored with this tag.") var tag: String?

  func validate() throws {
    if [!keys.isEmpty, prefix != nil, tag != nil].count(where: { $0 }) != 1 {
      throw ValidationError("Give keys, or --prefix, or --tag, and one of them only.")
    }
    if prefix == "" { throw ValidationError("Every key starts with an empty prefix; use clear.") }
  }

  func run() throws {
    let missing = try option.withExisting { cache, _ in
      if let prefix { return try remove(withPrefix: prefix, from: cache) }
      if let tag { return try remove(taggedWith: tag, from: cache) }
      return try remove(keys, from: cache)
    }
    if missing.isEmpty { return }
    for name in missing { StandardError.tell(name) }
    throw ExitStatus.negative.code
  }

  private func remove(withPrefix prefix: String, from cache: LMDBCache) throws -> [String] {
    let isFound = try hasEntry(withPrefix: prefix, in: cache) { _ in true }
    guard isFound else { return ["no key starts with \(Formatting.key(prefix))"] }
    try cache.removeAll(.prefix(prefix))
    return []
  }

  /// Stops at the first match, and loads entries in parts.
  private func hasEntry(
    withPrefix prefix: String = "", in cache: LMDBCache, where condition: (CacheEntry) -> Bool
  ) throws -> Bool {
    var isFound = false
    try cache.forEachPage(withPrefix: prefix, pageSize: 1_000) { entries in
      isFound = entries.contains(where: condition)
      return !isFound
    }
    return isFound
  }

  private func remove(taggedWith tag: String, from cache: LMDBCache) throws -> [String] {
    let isFound = try hasEntry(in: cache) { $0.isTagged(tag) }
    guard isFound else { return ["no entry has the tag \(Formatting.key(tag))"] }
    try cache.removeAll(.tag(tag))
    return []
  }

  private func remove(_ keys: [String], from cache: LMDBCache) throws -> [String] {
    let missing = try keys.filter { try !cache.contains($0) }
    try cache.write { batch in for key in keys { batch.removeValue(forKey: key) } }
    return missing.map { "there is no entry under \(Formatting.key($0))" }
  }
}

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "ls", "Lists the entries.",
    """
    In the byte order of keys; the empty key and keys of more than 511 bytes come last. A long list is written in parts, \
    which are not of one moment if others write.

    The columns are the key, the size of the stored value in bytes, its format, its cost, when it expires and when it \
    was written (UTC). Control characters in keys are escaped, except with -q and --json.

    Examples:
      lmdb-cache ls --prefix user: --cache ./demo
      lmdb-cache ls -q0 --cache ./demo | xargs -0 lmdb-cache rm --cache ./demo --
    """)

  @OptionGroup var option: CacheOption
  @Option(help: "Lists only keys that start with this, byte for byte.") var prefix = ""
  @Flag(help: "Writes an array of objects.") var json = false
  @Flag(name: .shortAndLong, help: "Writes the keys alone, one a line.") var quiet = false
  @Flag(name: [.customShort("0"), .customLong("null")], help: "With -q: ends keys with a NUL in place of a newline.")
  var null = false

  @Option(help: "Lists no more than so many.") var limit: Int?

  private static let pageSize = 1_000

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
    if json && quiet { throw ValidationError("Give --json or --quiet, and not both.") }
    if null && !quiet { throw ValidationError("--null goes with --quiet.") }
  }

  func run() throws {
    var listing = EntryListing(json ? .json : quiet ? .keys(end: null ? "\0" : "\n") : .table)
    var left = limit ?? .max
    try option.withReader { reader in
      try reader.forEachPage(withPrefix: prefix, pageSize: min(left, Self.pageSize)) { entries in
        try listing.write(entries.prefix(left))
        left -= min(left, entries.count)
        return left > 0
      }
    }
    try listing.end()
  }
}

/// Entries on standard output, written as they arrive.
struct EntryListing {
  enum Style {
    case table
    /// An array of objects, one per line, so that it can also be read by line.
    case json
    case keys(end: String)
  }

  private let style: Style
  private var table = TextTable([.left, .right, .left, .right, .left, .left])
  private var isEmpty = true

  init(_ style: Style) { self.style = style }

  mutating func write(_ entries: some Collection<CacheEntry>) throws {
    if entries.isEmpty { return }
    switch style {
    case .table:
      if isEmpty { table.append(["KEY", "SIZE", "FORMAT", "COST", "EXPIRES", "CREATED"]) }
      for entry in entries { table.append(Self.row(entry)) }
      try StandardOutput.write(table.takeText())
    case .json:
      let lines = try entries.map { "  " + (try JSONOutput.encode(EntryDescription($0), pretty: false)) }
      try StandardOutput.write((isEmpty ? "[\n" : ",\n") + lines.joined(separator: ",\n"))
    case .keys(let end):
      try StandardOutput.write(entries.map { $0.key + end }.joined())
    }
    isEmpty = false
  }

  /// Call once, after the last entry.
  func end() throws { if case .json = style { try StandardOutput.write(isEmpty ? "[]\n" : "\n]\n") } }

  private static func row(_ entry: CacheEntry) -> [String] {
    [
      Formatting.key(entry.key), Formatting.grouped(entry.size), "\(entry.format)", Formatting.grouped(entry.cost),
      entry.expiration.map(Formatting.date) ?? "never", Formatting.date(entry.created),
    ]
  }
}

/// An entry, as printed by `ls --json`.
struct EntryDescription: Encodable {
  let key: String
  let size: Int
  let format: String
  let cost: Int
  /// Absent if the entry does not expire.
  let expires: Date?
  let created: Date
  let lastAccess: Date
  /// For the page: whether the key was cut because it is too long for a request.
  var isCut: Bool?

  init(_ entry: CacheEntry, key: String? = nil) {
    self.key = key ?? entry.key
    size = entry.size
    format = "\(entry.format)"
    cost = entry.cost
    expires = entry.expiration
    created = entry.created
    lastAccess = entry.lastAccess
  }
}
