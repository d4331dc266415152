import ArgumentParser
import Foundation
import LMDBCaching

/// `get KEY`
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Writes the value under a key to standard output.",
    discussion: """
      Strings, bytes and archives are written as they are stored, byte for byte, with nothing added. Numbers, \
      booleans, dates, UUIDs and arrays of numbers, which are stored in binary, are written as one line of text, and \
      Codable values, which are CBOR, in its diagnostic notation (RFC 8949, section 8), unless --raw is given.

      Example:
        lmdb-cache get user:42 --cache ./demo

      Exits with 1 and writes nothing if there is no such key, or its entry has expired.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: "The key.") var key: String
  @Flag(help: "Write the stored bytes, whatever the format.") var raw = false

  func run() throws {
    guard let output = try option.withExisting({ cache, _ in try output(from: cache) }) else {
      StandardError.write("lmdb-cache: there is no entry under \(Formatting.key(key))\n")
      throw ExitStatus.negative.code
    }
    try StandardOutput.write(output)
  }

  private func output(from cache: DiskCache) throws -> Data? {
    if !raw, let text = try ScalarText.text(forKey: key, in: cache) { return Data((text + "\n").utf8) }
    return try cache.withBytes(forKey: key) { bytes in bytes.withUnsafeBytes { Data($0) } }
  }
}
