import CBORCoding
import Foundation
import LMDBCaching

/// An entry as the fields that `export` writes, and back. Those that say nothing are left out.
///
/// When it was created and accessed are seconds since 1970, other times nanoseconds, as the cache has them. The stamp,
/// which orders the writes of one cache, is not among them.
enum ExchangeEntry {
  static func fields(of record: EntryRecord) -> ExchangeFormat.Fields {
    var fields: ExchangeFormat.Fields = [
      (.key, .text(record.key)), (.format, .text("\(record.format)")), ExchangeValue.field(of: record),
      (.created, .integer(Int128(record.created))), (.lastAccess, .integer(Int128(record.lastAccess))),
      (.cost, .integer(Int128(record.entry.cost))),
    ]
    func add(_ name: ExchangeFormat.Name, _ number: some FixedWidthInteger) {
      if number != 0 { fields.append((name, .integer(Int128(number)))) }
    }
    add(.expires, record.expires)
    add(.refresh, record.refresh)
    add(.kept, record.kept)
    let tags = record.tagHashes
    if !tags.isEmpty { fields.append((.tags, .list(tags.map { .integer(Int128($0)) }))) }
    add(.revision, record.revision)
    add(.uses, record.uses)
    if record.isTransformed { fields.append((.transformed, .bool(true))) }
    if record.isAbsence { fields.append((.absence, .bool(true))) }
    return fields
  }

  /// - Parameter prefix: What is put in front of the key.
  static func record(_ fields: [String: ExchangeFormat.Field], prefix: String) throws(ExchangeProblem) -> EntryRecord {
    let reader = FieldReader(fields)
    try reader.refuseUnknown()
    let key = try reader.required(.key, reader.text(.key))
    let name = try reader.required(.format, reader.text(.format))
    guard let format = ExchangeValue.format(named: name) else {
      throw ExchangeProblem("there is no format “\(Formatting.key(name))”")
    }
    let isTransformed = try reader.bool(.transformed) ?? false
    let stored = try ExchangeValue.stored(reader, format, isTransformed: isTransformed)
    let created: UInt32 = try reader.required(.created, reader.integer(.created))
    let lastAccess: UInt32 = try reader.integer(.lastAccess) ?? created
    let cost: Int = try reader.required(.cost, reader.integer(.cost))
    let (expires, refresh, kept): (Int64, Int64, Int64) = (
      try reader.integer(.expires) ?? 0, try reader.integer(.refresh) ?? 0,
      try reader.integer(.kept) ?? 0
    )
    let (revision, uses): (UInt64, UInt8) = (try reader.integer(.revision) ?? 0, try reader.integer(.uses) ?? 0)
    let (tags, isAbsence) = (try reader.hashes(.tags), try reader.bool(.absence) ?? false)
    do throws(CacheError) {
      return try EntryRecord(
        key: prefix + key, format: format, stored: stored, created: created, lastAccess: lastAccess, cost: cost,
        expires: expires, refresh: refresh, kept: kept, revision: revision, tagHashes: tags, uses: uses,
        isAbsence: isAbsence, isTransformed: isTransformed)
    } catch {
      throw ExchangeProblem(error.message)
    }
  }
}

/// The value of an entry in a file: what people and other programs can read where that tells every byte of it, else the
/// bytes as they are stored.
enum ExchangeValue {
  typealias Field = ExchangeFormat.Field

  private static let formats = Dictionary(
    uniqueKeysWithValues: (UInt8.min...UInt8.max).map { number in
      let format = ArchiveFormat(rawValue: number)
      return ("\(format)", format)
    })

  static func format(named name: String) -> ArchiveFormat? { formats[name] }

  // MARK: Out

  static func field(of record: EntryRecord) -> (key: ExchangeFormat.Name, value: Field) {
    if !record.isTransformed, let field = readable(record.stored, record.format) { return (.value, field) }
    return (.bytes, .bytes(record.stored))
  }

  private static func readable(_ stored: Data, _ format: ArchiveFormat) -> Field? {
    switch format {
    case .string, .url: String(validating: stored, as: UTF8.self).map { .text($0) }
    case .bool: stored.count == 1 && stored[stored.startIndex] < 2 ? .bool(stored[stored.startIndex] == 1) : nil
    case .signedInteger: word(stored, UInt64.self).map { .integer(Int128(Int64(bitPattern: $0))) }
    case .unsignedInteger: word(stored, UInt64.self).map { .integer(Int128($0)) }
    case .double, .date: word(stored, UInt64.self).flatMap { finite(Double(bitPattern: $0)) }
    case .float: word(stored, UInt32.self).flatMap { finite(Double(Float(bitPattern: $0))) }
    case .uuid: uuid(stored).map { .text($0) }
    default: nil
    }
  }

  /// There is no form of others in JSON, and in CBOR one for all that are no numbers.
  private static func finite(_ value: Double) -> Field? { value.isFinite ? .double(value) : nil }

  private static func word<Word: FixedWidthInteger>(_ stored: Data, _ type: Word.Type) -> Word? {
    guard stored.count == MemoryLayout<Word>.size else { return nil }
    return stored.reversed().reduce(0) { $0 << 8 | Word($1) }
  }

  private static func uuid(_ stored: Data) -> String? {
    guard stored.count == 16 else { return nil }
    let digits = stored.map { String(format: "%02X", $0) }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
  }

  // MARK: In

  /// The bytes that are to be stored.
  static func stored(
    _ reader: FieldReader, _ format: ArchiveFormat, isTransformed: Bool
  ) throws(ExchangeProblem) -> Data {
    let given = [ExchangeFormat.Name.value, .bytes, .base64].filter(reader.has)
    guard given.count == 1 else {
      throw ExchangeProblem(
        given.isEmpty
          ? "there is no value" : "there is more than one value: \(given.map(\.rawValue).joined(separator: ", "))")
    }
    if given != [.value] { return try reader.required(given[0], reader.bytes(given[0])) }
    guard !isTransformed, let stored = try archive(reader, format) else {
      throw ExchangeProblem("the value of an entry with the format “\(format)” is given as bytes")
    }
    return stored
  }

  private static func archive(_ reader: FieldReader, _ format: ArchiveFormat) throws(ExchangeProblem) -> Data? {
    switch format {
    case .string, .url: return Data(try reader.required(.value, reader.text(.value)).utf8)
    case .bool: return Data([try reader.required(.value, reader.bool(.value)) ? 1 : 0])
    case .signedInteger:
      let value: Int64 = try reader.required(.value, reader.integer(.value))
      return bytes(UInt64(bitPattern: value))
    case .unsignedInteger:
      let value: UInt64 = try reader.required(.value, reader.integer(.value))
      return bytes(value)
    case .double, .date: return bytes(try reader.required(.value, reader.double(.value)).bitPattern)
    case .float:
      let value = try reader.required(.value, reader.double(.value))
      guard let float = Float(exactly: value) else {
        throw ExchangeProblem("\(value) is no number of single precision")
      }
      return bytes(float.bitPattern)
    case .uuid:
      guard let uuid = UUID(uuidString: try reader.required(.value, reader.text(.value))) else {
        throw ExchangeProblem("the value is no UUID")
      }
      return unsafe withUnsafeBytes(of: uuid.uuid) { unsafe Data($0) }
    default: return nil
    }
  }

  private static func bytes<Word: FixedWidthInteger>(_ word: Word) -> Data {
    Data((0..<MemoryLayout<Word>.size).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) })
  }
}
