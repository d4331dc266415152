package import Foundation
import LMDB
import Platform

extension CacheReader {
  /// How often an entry is looked up again whose value has moved.
  private static let attempts = 100

  /// The live entry under a key with its value, or `nil` if there is none.
  ///
  /// - Throws: `.corruptedRecord` if its checksum, or that of its value, does not match; `.unsupportedRecord`; `.busy` if
  ///   others replace it faster than it can be read.
  package func record(forKey key: String) throws(CacheError) -> EntryRecord? {
    var last: CopiedRecord?
    for _ in 0..<Self.attempts {
      let copied = try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
        try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) in
          try snapshot.find(key) { (found) throws(ReadingFailure) in try found.copy() }
        }
      }
      guard let copied else { return nil }
      if let record = try completed(copied) { return record }
      // The same again: it has not moved, it is gone.
      if copied.bytes == last?.bytes { throw .corrupted(key) }
      last = copied
    }
    throw CacheError(
      .busy, "The value of \(quoted(key)) is replaced faster than it can be read. Try again when others write less.")
  }

  /// The value of a record as it was archived.
  ///
  /// - Throws: `.missingTransform`, `.decodingFailed`.
  package func archive(of record: EntryRecord) throws(CacheError) -> Data {
    guard record.isTransformed else { return record.stored }
    return try CacheKey.with(record.key) { (key) throws(CacheError) in
      try record.stored.withBytes { (bytes) throws(CacheError) in
        try transforms.restore(bytes, record.header, record.entry.tags, key)
      }
    }
  }

  /// The value of a record.
  ///
  /// - Throws: `.typeMismatch`, `.decodingFailed`, `.missingTransform`.
  package func value<V: Codable>(_ type: V.Type = V.self, of record: EntryRecord) throws(CacheError) -> V {
    try archive(of: record).withBytes { (bytes) throws(CacheError) in
      try ValueArchiver.value(type, from: bytes, format: record.format, forKey: record.key)
    }
  }

  /// The value under a key, or `nil` if there is none.
  package func value<V: Codable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    try record(forKey: key).map { (record) throws(CacheError) in try value(type, of: record) }
  }

  /// Calls `body` with the archived bytes of the value under a key, or returns `nil` if there is none.
  package func withBytes<R>(forKey key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    try record(forKey: key).map { record in
      try archive(of: record).withUnsafeBytes { try body($0.bytes) }
    }
  }

  // MARK: Many

  /// How many records are copied at a time, and of how many bytes about.
  private static let recordsAtOnce = 256
  private static let bytesAtOnce = 1 << 20

  /// Calls `body` with the entries and their values, one at a time, until it returns `false`. They are of several states:
  /// one that is written or removed meanwhile is among them or not.
  ///
  /// - Parameters:
  ///   - place: Where to go on.
  ///   - selection: Which of them.
  ///   - onDamage: Called with the error of an entry that cannot be read; the others are read all the same if it returns.
  package func forEachRecord(
    withPrefix prefix: String = "", after place: EntryPlace? = nil, selection: EntrySelection = .live,
    onDamage: (CacheError) throws -> Void, _ body: (EntryRecord) throws -> Bool
  ) throws {
    var place = place
    repeat {
      let (records, next) = try copies(prefix, after: place, selection)
      for copied in records {
        let record: EntryRecord?
        do throws(CacheError) {
          // Of one that has moved what is there now.
          let completed = try completed(copied)
          record =
            if let completed { completed } else { try self.record(forKey: String(decoding: copied.key, as: UTF8.self)) }
        } catch {
          guard error.isOfOneEntry else { throw error }
          try onDamage(error)
          continue
        }
        if let record, try !body(record) { return }
      }
      place = next
    } while place != nil
  }

  private func copies(
    _ prefix: String, after place: EntryPlace?, _ selection: EntrySelection
  ) throws(CacheError) -> (records: [CopiedRecord], next: EntryPlace?) {
    try look("Listing \(path)") { (snapshot) throws(ReadingFailure) in
      let limit = max(1, Self.recordsAtOnce >> min(8, snapshot.attempt))
      var (records, bytes): ([CopiedRecord], Int) = ([], 0)
      let next = try withUTF8Bytes(of: prefix) { (prefix) throws(ReadingFailure) in
        try snapshot.scan(
          prefix, after: place, limit: limit, selection,
          onUnreadable: { records.append(CopiedRecord(unreadable: $1, databaseKey: $0)) }
        ) { (found) throws(ReadingFailure) in
          records.append(try found.copy())
          bytes += records[records.count - 1].bytes.count
          return bytes < Self.bytesAtOnce
        }
      }
      return (records, next)
    }
  }

  // MARK: One

  /// See ``CopiedRecord/completed(reading:)``.
  private func completed(_ copied: CopiedRecord) throws(CacheError) -> EntryRecord? {
    try copied.completed { (pointer, key) throws(CacheError) in
      let reading = try calling("Reading the value of \(quoted(key))") { () throws(SystemError) in
        try values.isPresent(pointer) ? try values.read(pointer) : .missing
      }
      return switch reading {
      case .value(let data): data
      case .missing, .damaged: nil
      }
    }
  }
}
