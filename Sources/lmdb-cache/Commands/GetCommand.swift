import ArgumentParser
import Foundation
import LMDBCaching

struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Writes the value under a key to standard output.",
    discussion: """
      Strings and bytes are written as they are stored, byte for byte, with nothing added. Numbers, booleans, dates, \
      UUIDs and arrays of numbers, which are stored in binary, are written as one line of text; Codable values and \
      archived objects, which are CBOR, in its diagnostic notation (RFC 8949, section 8); and archives of \
      NSKeyedArchiver in much the same notation, with the classes of their objects. --raw writes what is stored.

      Bytes that are no text are not written to a terminal, unless --raw is given: what they hold could change how it \
      shows everything else.

      Example:
        lmdb-cache get user:42 --cache ./demo

      Exits with 1 and writes nothing if there is no such key, or its entry has expired.

      \(ExitStatus.explanation)
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
