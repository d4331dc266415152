import ArgumentParser
import Foundation
import LMDBCaching

struct SetCommand: ParsableCommand {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case string, bytes
  }

  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Stores a value under a key, in place of the one that is there.",
    discussion: """
      The value is an argument, a file (--file) or standard input (-). An argument is stored as a string, what is \
      read from a file as bytes; --format says otherwise. The cache is created if it is not there. When the command \
      returns, the value is committed. Keys and values that begin with a dash come last, after --, here and \
      elsewhere.

      Examples:
        lmdb-cache set greeting hello --cache ./demo
        gzip -c index.html | lmdb-cache set / - --expires 60 --cache ./demo

      \(ExitStatus.explanation)
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
