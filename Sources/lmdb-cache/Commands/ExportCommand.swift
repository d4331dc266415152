import ArgumentParser
import Foundation
import LMDBCaching

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes all entries of a cache in a form that import takes back without loss.",
    discussion: """
      JSON lines, an object an entry: the key, the format, when it was created and last accessed (seconds since 1970), \
      when it expires (nanoseconds; refresh and kept are the other times of a load's options), cost, the hashes of its \
      tags, and the value: text, a number or a boolean where that tells every byte of it, else base64. Integers that \
      have more than 53 bits are text. A first line names the version of the form, a last one tells how many entries \
      there are. With --format cbor the same as a CBOR sequence (RFC 8742). Expired entries are not written, unless \
      they are kept for loads. Values that went through transforms, such as encryption, are written as they are stored.

      The cache is only looked at, page by page: while others write, it is not one moment that is written, and a message \
      says so. --consistent opens the cache as its own programs do, and writes one state of it.

      A file that is named with --output gets its name when it is whole.

      Examples:
        lmdb-cache export --cache ./demo | jq -r 'select(.format == "string") | .value'
        lmdb-cache export --cache ./demo --format cbor --output demo.cbor
        lmdb-cache export --cache ./old --prefix user: | lmdb-cache import - --cache ./new

      Exits with 4 if an entry is damaged and was left out; its key is told.

      \(ExitStatus.explanation)
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
      let before = try (reader.position(), reader.figures())
      let figures = before.1
      let damaged = try write(figures.durability, total: prefix.isEmpty ? figures.entries : nil, interruption) {
        onDamage, body in
        try reader.forEachRecord(withPrefix: prefix, selection: .kept, onDamage: onDamage, body)
      }
      // Without commits, pending writes only grow.
      let after = try (reader.position(), reader.figures())
      if after.0 != before.0 || after.1.pendingWrites != figures.pendingWrites {
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
    var progress = Progress(total: total)
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
