import CBORCoding
import Foundation
import LMDBCaching

/// An entry as the fields that `export` writes, and back. Those that say nothing are left out.
///
/// When it was created and accessed are seconds since 1970, other times nanoseconds, as the cache has them. The stamp,
/// which orders the writes of one cache, is not among them.
enum ExchangeEntry {
  private enum Name {
    static let key = "key"
    static let format = "format"
    static let created = "created"
    static let lastAccess = "lastAccess"
    static let expires = "expires"
    static let refresh = "refresh"
    static let kept = "kept"
    static let cost = "cost"
    static let tags = "tags"
    static let revision = "revision"
    static let uses = "uses"
    static let transformed = "transformed"
    static let absence = "absence"
    static let all: Set<String> = [
      key, format, created, lastAccess, expires, refresh, kept, cost, tags, revision, uses, transformed, absence,
      ExchangeValue.name, ExchangeValue.bytesName, ExchangeValue.base64Name,
    ]
  }

  static func fields(of record: EntryRecord) -> ExchangeFormat.Fields {
    var fields: ExchangeFormat.Fields = [
      (Name.key, .text(record.key)), (Name.format, .text("\(record.format)")), ExchangeValue.field(of: record),
      (Name.created, .integer(Int128(record.created))), (Name.lastAccess, .integer(Int128(record.lastAccess))),
      (Name.cost, .integer(Int128(record.entry.cost))),
    ]
    func add(_ name: String, _ number: some FixedWidthInteger) {
      if number != 0 { fields.append((name, .integer(Int128(number)))) }
    }
    add(Name.expires, record.expires)
    add(Name.refresh, record.refresh)
    add(Name.kept, record.kept)
    let tags = record.tagHashes
    if !tags.isEmpty { fields.append((Name.tags, .list(tags.map { .integer(Int128($0)) }))) }
    add(Name.revision, record.revision)
    add(Name.uses, record.uses)
    if record.isTransformed { fields.append((Name.transformed, .bool(true))) }
    if record.isAbsence { fields.append((Name.absence, .bool(true))) }
    return fields
  }

  /// - Parameter prefix: What is put in front of the key.
  static func record(_ fields: [String: ExchangeFormat.Field], prefix: String) throws(ExchangeProblem) -> EntryRecord {
    let reader = FieldReader(fields)
    try reader.refuse(otherThan: Name.all)
    let key = try reader.required(Name.key, reader.text(Name.key))
    let name = try reader.required(Name.format, reader.text(Name.format))
    guard let format = ExchangeValue.format(named: name) else {
      throw ExchangeProblem("there is no format “\(Formatting.key(name))”")
    }
    let isTransformed = try reader.bool(Name.transformed) ?? false
    let stored = try ExchangeValue.stored(reader, format, isTransformed: isTransformed)
    let created: UInt32 = try reader.required(Name.created, reader.integer(Name.created))
    let lastAccess: UInt32 = try reader.integer(Name.lastAccess) ?? created
    let cost: Int = try reader.required(Name.cost, reader.integer(Name.cost))
    let (expires, refresh, kept): (Int64, Int64, Int64) = (
      try reader.integer(Name.expires) ?? 0, try reader.integer(Name.refresh) ?? 0,
      try reader.integer(Name.kept) ?? 0
    )
    let (revision, uses): (UInt64, UInt8) = (
      try reader.integer(Name.revision) ?? 0, try reader.integer(Name.uses) ?? 0
    )
    let (tags, isAbsence) = (try reader.hashes(Name.tags), try reader.bool(Name.absence) ?? false)
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
