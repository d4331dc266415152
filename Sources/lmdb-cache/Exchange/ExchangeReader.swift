import CBORCoding
import Foundation
import LMDBCaching

/// Reads what `export` wrote, an entry at a time, and believes nothing: what is wrong is told with its place.
final class ExchangeReader {
  typealias Field = ExchangeFormat.Field

  private let input: ExchangeInput
  private let format: ExchangeFormat
  private var line = 0
  private var entries = 0
  private var isEnded = false
  /// How the cache was opened that it is of; `nil`: it does not say.
  let durability: Durability?
  /// Entries that could not be read when it was written.
  private(set) var unreadable = 0

  /// Bytes of a header or an end.
  private static let headerLimit = 1 << 16
  /// Bytes of the longest entry: a value of 4 GiB in base64, a key with each byte escaped.
  private static let entryLimit = 6 << 30

  /// Opens a file and reads its header.
  ///
  /// - Parameter format: `nil`: what it begins like.
  init(path: String, format: ExchangeFormat?) throws {
    input = try ExchangeInput(path: path)
    guard try input.has(1) else { throw ToolError(.dataError, "\(input.name) is empty: no export ends so") }
    self.format = format ?? (input[0] >> 5 == 5 ? .cbor : .jsonl)
    do {
      guard let fields = try Self.next(input, self.format, limit: Self.headerLimit) else {
        throw ExchangeProblem("there is nothing in it")
      }
      let header = FieldReader(fields)
      guard let version: Int64 = try header.integer(ExchangeFormat.versionName) else {
        throw ExchangeProblem("it does not begin as an export of this tool does")
      }
      guard version == ExchangeFormat.version else {
        throw ExchangeProblem(
          "it has version \(version), and this tool reads \(ExchangeFormat.version): use the one that wrote it")
      }
      durability = try header.text(ExchangeFormat.durabilityName).map { (name) throws(ExchangeProblem) in
        guard let durability = Durability(argument: name) else {
          throw ExchangeProblem("there is no durability “\(Formatting.key(name))”")
        }
        return durability
      }
    } catch let problem as ExchangeProblem {
      throw Self.error(problem, input, self.format, line: 1, offset: 0)
    }
    line = 1
  }

  /// The next entry; `nil` after the last.
  ///
  /// - Parameter body: Makes something of its fields.
  /// - Throws: for what is no entry, and for a file that ends before its end.
  func next<Entry>(_ body: ([String: Field]) throws(ExchangeProblem) -> Entry) throws -> Entry? {
    if isEnded { return nil }
    line += 1
    let offset = input.offset
    do {
      guard let fields = try Self.next(input, format, limit: Self.entryLimit) else {
        throw ExchangeProblem("it ends here, before its end: the rest was cut off")
      }
      guard fields[ExchangeFormat.entriesName] == nil else {
        try end(FieldReader(fields))
        return nil
      }
      entries += 1
      return try body(fields)
    } catch let problem as ExchangeProblem {
      throw Self.error(problem, input, format, line: line, offset: offset)
    }
  }

  private func end(_ end: FieldReader) throws {
    guard let written: Int = try end.integer(ExchangeFormat.entriesName), written == entries else {
      throw ExchangeProblem(
        "its end tells of another number of entries than the \(Formatting.grouped(entries)) that are in it")
    }
    unreadable = try end.integer(ExchangeFormat.unreadableName) ?? 0
    guard try Self.next(input, format, limit: Self.headerLimit) == nil else {
      throw ExchangeProblem("something follows its end")
    }
    isEnded = true
  }

  private static func error(
    _ problem: ExchangeProblem, _ input: ExchangeInput, _ format: ExchangeFormat, line: Int, offset: Int
  ) -> ToolError {
    let place = format == .jsonl ? "line \(line)" : "the item at byte \(offset)"
    return ToolError(.dataError, "\(input.name), \(place): \(problem.text)")
  }

  // MARK: Items

  private static func next(
    _ input: ExchangeInput, _ format: ExchangeFormat, limit: Int
  ) throws -> [String: Field]? {
    switch format {
    case .jsonl:
      guard let line = try input.line(limit: limit) else { return nil }
      let fields = try ExchangeFormat.fields(of: line.bytes)
      // What was cut off within a number would be another number.
      guard line.isEnded else { throw ExchangeProblem("there is no line feed at its end: it was cut off") }
      return fields
    case .cbor: return try nextItem(input, limit: limit)
    }
  }

  private static func nextItem(_ input: ExchangeInput, limit: Int) throws -> [String: Field]? {
    guard try input.has(1) else { return nil }
    while true {
      let extent = try decoding { try input.withBytes { try CBORSequence.firstExtent(of: $0) } }
      switch extent {
      case .whole(let count):
        guard count <= limit else { throw tooLong(limit) }
        let fields = try decoding { try input.withBytes { try CBORSequence.map(of: $0.extracting(first: count)) } }
        input.drop(count)
        return fields
      case .cutOff(let count):
        guard count <= limit else { throw tooLong(limit) }
        guard try input.has(count) else {
          throw ExchangeProblem("it ends within the item: it was cut off")
        }
      }
    }
  }

  private static func tooLong(_ limit: Int) -> ExchangeProblem {
    ExchangeProblem("it is longer than \(Formatting.grouped(limit)) bytes")
  }

  private static func decoding<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as CBORCodingError { throw ExchangeProblem(error.message) }
  }
}
