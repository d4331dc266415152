import ArgumentParser
import Foundation
import LMDBCaching

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "Lists the entries.",
    discussion: """
      They are in the byte order of their keys; the empty key and keys of more than 511 bytes come last. A long list is \
      written while it is read, in small parts: it is not of one moment where others write meanwhile.

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
