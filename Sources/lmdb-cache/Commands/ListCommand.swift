import ArgumentParser
import Foundation
import LMDBCaching

/// `ls`
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "Lists the entries in byte order of their keys.",
    discussion: """
      The columns are the key, the size of the stored value in bytes, its format, its cost, when it expires and when \
      it was written (UTC). Characters of keys that would garble the table are escaped; -q and --json give keys as \
      they are.

      Examples:
        lmdb-cache ls --prefix user: --cache ./demo
        lmdb-cache ls -q0 --cache ./demo | xargs -0 lmdb-cache rm --cache ./demo --

      An empty list is no failure.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Option(help: "Lists only keys that start with this, byte for byte.") var prefix = ""
  @Flag(help: "Writes an array of objects.") var json = false
  @Flag(name: .shortAndLong, help: "Writes the keys alone, one a line.") var quiet = false
  @Flag(name: [.customShort("0"), .customLong("null")], help: "With -q: ends keys with a NUL in place of a newline.")
  var null = false

  func validate() throws {
    if json && quiet { throw ValidationError("Give --json or --quiet, and not both.") }
    if null && !quiet { throw ValidationError("--null goes with --quiet.") }
  }

  func run() throws {
    let entries = try option.withExisting { cache, _ in try cache.entries(withPrefix: prefix) }
    if json {
      try writeJSON(entries)
    } else if quiet {
      try StandardOutput.write(entries.map { $0.key + (null ? "\0" : "\n") }.joined())
    } else if !entries.isEmpty {
      try StandardOutput.write(table(of: entries))
    }
  }

  /// One line an entry, so that it can also be read by line.
  private func writeJSON(_ entries: [CacheEntry]) throws {
    let lines = try entries.map { "  " + (try JSONOutput.encode(EntryDescription($0), pretty: false)) }
    try StandardOutput.write(lines.isEmpty ? "[]\n" : "[\n" + lines.joined(separator: ",\n") + "\n]\n")
  }

  private func table(of entries: [CacheEntry]) -> String {
    var table = TextTable([.left, .right, .left, .right, .left, .left])
    table.append(["KEY", "SIZE", "FORMAT", "COST", "EXPIRES", "CREATED"])
    for entry in entries {
      table.append([
        Formatting.key(entry.key), Formatting.grouped(entry.size), "\(entry.format)", Formatting.grouped(entry.cost),
        entry.expiration.map(Formatting.date) ?? "never", Formatting.date(entry.created),
      ])
    }
    return table.text
  }
}
