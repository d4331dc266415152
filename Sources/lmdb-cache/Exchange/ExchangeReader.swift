import CBORCoding
import Foundation
import LMDBCaching
import LMDBCachingImport

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
      guard let version: Int64 = try header.integer(.version) else {
        throw ExchangeProblem("it does not begin as an export of this tool does")
      }
      guard version == ExchangeFormat.version else {
        throw ExchangeProblem(
          "it has version \(version), and this tool reads \(ExchangeFormat.version): use the one that wrote it")
      }
      durability = try header.text(.durability).map { (name) throws(ExchangeProblem) in
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
      guard fields[ExchangeFormat.Name.entries.rawValue] == nil else {
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
    guard let written: Int = try end.integer(.entries), written == entries else {
      throw ExchangeProblem(
        "its end tells of another number of entries than the \(Formatting.grouped(entries)) that are in it")
    }
    unreadable = try end.integer(.unreadable) ?? 0
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

  private static func next(_ input: ExchangeInput, _ format: ExchangeFormat, limit: Int) throws -> [String: Field]? {
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

/// Takes what `export` wrote into a cache, a part at a time.
struct ExchangeImport {
  private static let batchCount = 256
  private static let batchSize = 1 << 20

  /// `nil`: nothing is there, and nothing is stored.
  private let cache: LMDBCache?
  private let overwrites: Bool
  private var pending: [EntryRecord] = []
  private var pendingSize = 0
  private(set) var report = ImportReport()

  init(into cache: LMDBCache?, isDryRun: Bool, overwrites: Bool) {
    self.cache = cache
    self.overwrites = overwrites
    report.isDryRun = isDryRun
  }

  /// Reads to the end, or until it is interrupted. What was read before a failure is stored.
  mutating func run(_ reader: ExchangeReader, prefix: String, progress: Progress, _ isInterrupted: () -> Bool) throws {
    do {
      while !isInterrupted() {
        let record = try reader.next { (fields) throws(ExchangeProblem) in
          try ExchangeEntry.record(fields, prefix: prefix)
        }
        guard let record else {
          report.isComplete = true
          break
        }
        try take(record)
        progress.advance()
      }
    } catch {
      try storePending()
      throw error
    }
    try storePending()
  }

  private mutating func take(_ record: EntryRecord) throws {
    report.examined += 1
    if record.isOver(at: cache?.now ?? CacheClock.system.now) {
      report.expired += 1
      return
    }
    pending.append(record)
    pendingSize += record.size
    if pending.count >= Self.batchCount || pendingSize >= Self.batchSize { try storePending() }
  }

  private mutating func storePending() throws {
    let records = pending
    pending.removeAll(keepingCapacity: true)
    pendingSize = 0
    for (record, isTaken) in zip(records, try isTaken(records)) {
      if isTaken {
        report.taken += 1
        report.takenBytes += record.size
      } else {
        report.present += 1
      }
    }
  }

  private func isTaken(_ records: [EntryRecord]) throws -> [Bool] {
    guard let cache else { return records.map { _ in true } }
    guard report.isDryRun else { return try cache.take(records, replacing: overwrites) }
    return try records.map { try overwrites || !cache.contains($0.key) }
  }
}

/// A file, or standard input, read forwards; no more of it is in memory than what is asked for.
final class ExchangeInput {
  /// For messages.
  let name: String
  private let handle: FileHandle
  private var buffer: [UInt8] = []
  /// Where in the buffer that begins which was not taken.
  private var start = 0
  private var isAtEnd = false
  /// Bytes that were taken.
  private(set) var offset = 0

  private static let partSize = 1 << 18

  /// - Parameter path: `-` is standard input.
  init(path: String) throws(ToolError) {
    name = path == "-" ? "standard input" : path
    handle = path == "-" ? .standardInput : try InputFile.open(path)
  }

  /// How many bytes are at hand.
  var count: Int { buffer.count - start }

  /// Whether so many bytes are at hand, or can be had.
  func has(_ count: Int) throws(ToolError) -> Bool {
    while self.count < count, !isAtEnd { try readPart() }
    return self.count >= count
  }

  /// Calls `body` with what is at hand.
  func withBytes<R>(_ body: (RawSpan) throws -> R) throws -> R {
    // A span of a property cannot be cut down: the compiler takes the part for one that leaves its scope.
    try unsafe buffer.withUnsafeBytes { try unsafe body(UnsafeRawBufferPointer(rebasing: $0[start...]).bytes) }
  }

  /// A byte that is at hand.
  subscript(index: Int) -> UInt8 { buffer[start + index] }

  /// Moves behind so many bytes that are at hand.
  func drop(_ count: Int) {
    start += count
    offset += count
    // Not with each of many small ones.
    guard start >= Self.partSize else { return }
    buffer.removeSubrange(..<start)
    start = 0
  }

  /// The bytes up to a line feed, which is taken and not among them, or up to the end, and whether a line feed ended
  /// them; `nil` at the end.
  ///
  /// - Throws: for a line that is longer than `limit` and what is read at once.
  func line(limit: Int) throws -> (bytes: [UInt8], isEnded: Bool)? {
    var length = 0
    while true {
      if let end = buffer[(start + length)...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(buffer[start..<end])
        drop(line.count + 1)
        return (line, true)
      }
      length = count
      if length > limit { throw ExchangeProblem("it is longer than \(Formatting.grouped(limit)) bytes") }
      if isAtEnd {
        if length == 0 { return nil }
        let line = Array(buffer[start...])
        drop(length)
        return (line, false)
      }
      try readPart()
    }
  }

  private func readPart() throws(ToolError) {
    let part: Data?
    do {
      part = try handle.read(upToCount: Self.partSize)
    } catch {
      throw ToolError(.inputOutput, "cannot read \(name): \(Platform.reason(of: error).text)")
    }
    guard let part, !part.isEmpty else {
      isAtEnd = true
      return
    }
    buffer.append(contentsOf: part)
  }
}
