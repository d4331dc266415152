import ArgumentParser
import CBORCoding
import Foundation
import LMDBCaching
import Platform

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "export", "Writes all entries of a cache in a form that import takes back without loss.",
    """
    JSON lines, an object for each entry: key, format, when it was created and last accessed (seconds since 1970), when \
    it expires (nanoseconds; also refresh and kept, of a load's options), cost, hashes of its tags, and the value: text, \
    a number or a boolean if that is exact, else base64. Integers of more than 53 bits are text. The first line has the \
    version, the last one the number of entries. --format cbor writes the same as a CBOR sequence (RFC 8742). Expired \
    entries are skipped, unless they are kept for loads. Transformed values, such as encrypted ones, stay so.

    Reads the cache without opening it, in parts, which are not of one moment if others write; a message says so. \
    --consistent opens the cache, and writes one state of it. A file given with --output appears when it is complete.

    Examples:
      lmdb-cache export --cache ./demo | jq -r 'select(.format == "string") | .value'
      lmdb-cache export --cache ./demo --format cbor --output demo.cbor
      lmdb-cache export --cache ./old --prefix user: | lmdb-cache import - --cache ./new

    Exits with 4 if an entry is damaged and was left out; a message names its key.
    """)

  @OptionGroup var option: CacheOption
  @Option(help: ArgumentHelp("Only keys that begin like this.", valueName: "text")) var prefix = ""
  @Option(help: "The form.") var format: ExchangeFormat = .jsonl
  @Option(help: ArgumentHelp("Where to; - is standard output.", valueName: "path"), completion: .file())
  var output: String?
  @Flag(help: "Opens the cache, and writes one state of it.") var consistent = false

  func run() throws {
    if format == .cbor, output ?? "-" == "-", Platform.standardOutputIsTerminal {
      throw ToolError(.usage, "CBOR is no text: redirect it to a file, or give --output")
    }
    let interruption = Interruption()
    let damaged = consistent ? try exportSnapshot(interruption) : try exportPages(interruption)
    if damaged > 0 {
      throw ToolError(.damaged, "\(Formatting.grouped(damaged)) of the entries could not be read, and are left out")
    }
  }

  private func exportSnapshot(_ interruption: Interruption) throws -> Int {
    try option.withExisting { cache, durability in
      try write(durability, total: prefix.isEmpty ? cache.count : nil, interruption) { onDamage, body in
        try cache.forEachRecord(withPrefix: prefix, onDamage: onDamage, body)
      }
    }
  }

  private func exportPages(_ interruption: Interruption) throws -> Int {
    try option.withReader { reader in
      let (before, figures) = try (reader.state(), reader.figures())
      let damaged = try write(figures.durability, total: prefix.isEmpty ? figures.entries : nil, interruption) {
        onDamage, body in
        try reader.forEachRecord(withPrefix: prefix, selection: .kept, onDamage: onDamage, body)
      }
      // Without commits, pending writes only grow.
      if try reader.state() != before {
        StandardError.tell(
          "the cache was written to meanwhile: what was written is of no one moment (--consistent)")
      }
      return damaged
    }
  }

  /// - Returns: The number of damaged entries.
  private func write(
    _ durability: Durability?, total: Int?, _ interruption: Interruption,
    _ forEachRecord: (_ onDamage: (CacheError) -> Void, _ body: (EntryRecord) throws -> Bool) throws -> Void
  ) throws -> Int {
    let output = try ExchangeOutput(path: output)
    let progress = Progress(total: total)
    defer { progress.end() }
    do {
      let writer = try ExchangeWriter(output, format, durability: durability)
      var damaged = 0
      try forEachRecord(
        { error in
          damaged += 1
          StandardError.tell(error.message)
        },
        { record in
          try writer.write(record)
          progress.advance()
          return !interruption.hasHappened
        })
      if interruption.hasHappened { throw ToolError(.interrupted, "interrupted") }
      try writer.finish(unreadable: damaged)
      return damaged
    } catch {
      output.abandon()
      throw error
    }
  }
}

/// Writes entries as `export` does.
final class ExchangeWriter {
  private let output: ExchangeOutput
  private let format: ExchangeFormat
  private(set) var entries = 0

  init(_ output: ExchangeOutput, _ format: ExchangeFormat, durability: Durability?) throws(ToolError) {
    self.output = output
    self.format = format
    var header: ExchangeFormat.Fields = [(.version, .integer(ExchangeFormat.version))]
    if let durability { header.append((.durability, .text("\(durability)"))) }
    try write(header)
  }

  func write(_ record: EntryRecord) throws(ToolError) {
    try write(ExchangeEntry.fields(of: record))
    entries += 1
  }

  /// - Parameter unreadable: How many entries could not be read.
  func finish(unreadable: Int) throws(ToolError) {
    try write([
      (.entries, .integer(Int128(entries))),
      (.unreadable, .integer(Int128(unreadable))),
    ])
    try output.finish()
  }

  private func write(_ fields: ExchangeFormat.Fields) throws(ToolError) {
    switch format {
    case .jsonl: try output.write(JSONLine.encode(fields))
    case .cbor: try output.write(CBORSequence.encode(fields.map { (key: $0.key.rawValue, value: $0.value) }))
    }
  }
}

/// Standard output, or a file that gets its name when it is whole: one that is there stays until then, and what could
/// not be written to its end leaves nothing.
final class ExchangeOutput {
  private let handle: FileHandle
  private let name: String
  /// Of a file that has no name of its own yet.
  private let temporaryPath: String?
  private let path: String?
  private var buffer = Data()

  private static let partSize = 1 << 16

  /// - Parameter path: `nil` or `-`: standard output.
  init(path: String?) throws(ToolError) {
    guard let path, path != "-" else {
      (handle, name, temporaryPath, self.path) = (.standardOutput, "standard output", nil, nil)
      return
    }
    name = path
    // What is no file has no other name to get: a FIFO, say.
    if Platform.statusError(ofFileAt: path) != nil || Platform.size(ofFileAt: path) != nil {
      // Not the link gets what is written, but what it leads to.
      let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      let (descriptor, temporary) = try Platform.makeTemporaryFile(beside: path)
      handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      (temporaryPath, self.path) = (temporary, path)
    } else {
      (temporaryPath, self.path) = (nil, nil)
      do {
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      } catch {
        throw ToolError(.cannotCreate, "cannot write to \(path): \(Platform.reason(of: error).text)")
      }
    }
  }

  func write(_ bytes: some DataProtocol) throws(ToolError) {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.partSize { try flush() }
  }

  private func flush() throws(ToolError) {
    try writing { try handle.write(contentsOf: buffer) }
    buffer.removeAll(keepingCapacity: true)
  }

  private func writing(_ body: () throws -> Void) throws(ToolError) {
    do {
      try body()
    } catch {
      throw ToolError(.inputOutput, "cannot write to \(name): \(Platform.reason(of: error).text)")
    }
  }

  /// Writes the rest, and gives the file its name.
  func finish() throws(ToolError) {
    try flush()
    guard let temporaryPath, let path else { return }
    try writing { try handle.synchronize() }
    try Platform.move(temporaryPath, to: path)
  }

  /// Removes what was written of a file.
  func abandon() {
    // A failure is reported already.
    if let temporaryPath { _ = Platform.remove(temporaryPath) }
  }
}

/// One object on a line, without anything between the tokens; objects in it there are none.
enum JSONLine {
  typealias Field = ExchangeFormat.Field

  /// The greatest integer up to which all are numbers for every reader of JSON (RFC 8259, section 6).
  private static let greatestSafe: Int128 = 1 << 53 - 1

  /// The object and a line feed.
  static func encode(_ fields: ExchangeFormat.Fields) -> [UInt8] {
    var out = [UInt8(ascii: "{")]
    for (index, (name, field)) in fields.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      JSONWriter.append((name == .bytes ? .base64 : name).rawValue, to: &out)
      out.append(UInt8(ascii: ":"))
      append(field, to: &out)
    }
    out += "}\n".utf8
    return out
  }

  private static func append(_ field: Field, to out: inout [UInt8]) {
    switch field {
    case .text(let text): JSONWriter.append(text, to: &out)
    case .bytes(let data):
      out += [UInt8(ascii: "\"")] + data.base64EncodedData() + [UInt8(ascii: "\"")]
    case .integer(let integer):
      // Readers that take numbers for doubles would change it.
      let isSafe = -greatestSafe...greatestSafe ~= integer
      out += (isSafe ? "\(integer)" : "\"\(integer)\"").utf8
    case .double(let double): out += "\(double)".utf8
    case .bool(let bool): out += (bool ? "true" : "false").utf8
    case .null: out += "null".utf8
    case .list(let list):
      out.append(UInt8(ascii: "["))
      for (index, element) in list.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        // Hashes, whose digits say more than their numbers.
        if case .integer(let hash) = element, let hash = UInt64(exactly: hash) {
          let digits = String(hash, radix: 16)
          JSONWriter.append(String(repeating: "0", count: 16 - digits.utf8.count) + digits, to: &out)
        } else {
          append(element, to: &out)
        }
      }
      out.append(UInt8(ascii: "]"))
    }
  }
}
