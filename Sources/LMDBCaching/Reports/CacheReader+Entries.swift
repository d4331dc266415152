package import Foundation
import LMDB
import Platform

extension CacheReader {
  package struct Page: Sendable {
    package var entries: [CacheEntry] = []
    /// The start of the next page; `nil` on the last.
    package var next: EntryPlace?
  }

  /// The live entry under a key, without verifying its checksum.
  package func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
      try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) in
        try snapshot.find(key) { (found) throws(ReadingFailure) in found.entry }
      }
    }
  }

  /// A page of the live entries whose keys start with `prefix`, from one state. Keys of 1 to 511 bytes come first, in
  /// byte order; the others follow in database order.
  ///
  /// - Parameters:
  ///   - place: The end of the previous page; `nil` for the first.
  ///   - limit: The number of records to examine, at least 1. Pages may be shorter, or empty, and end at 4 MiB.
  package func page(
    withPrefix prefix: String = "", after place: EntryPlace? = nil, limit: Int
  ) throws(CacheError) -> Page {
    try page(prefix, after: place, limit: limit, .live)
  }

  private func page(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection
  ) throws(CacheError) -> Page {
    let (entries, next) = try scan(prefix, after: place, limit: limit, selection) {
      (found, entries: inout [CacheEntry], bytes) throws(ReadingFailure) in
      entries.append(found.entry)
      bytes += entries[entries.count - 1].key.utf8.count
    }
    return Page(entries: entries, next: next)
  }

  /// Calls `body` with each page of entries, each from its own state, until it returns `false`.
  ///
  /// - Parameter all: Whether to include expired entries that are not yet removed.
  package func forEachPage(
    withPrefix prefix: String = "", pageSize: Int = 1_000, all: Bool = false, _ body: ([CacheEntry]) throws -> Bool
  ) throws {
    var place: EntryPlace?
    repeat {
      let page = try page(prefix, after: place, limit: pageSize, all ? .all : .live)
      if try !page.entries.isEmpty && !body(page.entries) { return }
      place = page.next
    } while place != nil
  }

  /// The maximum size of a page's elements before the last one.
  private static let bytesAtOnce = 4 << 20

  /// Calls `note` with each record of a page, to append elements and add their bytes.
  func scan<Element>(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection,
    _ note: (FoundRecord, inout [Element], inout Int) throws(ReadingFailure) -> Void
  ) throws(CacheError) -> (elements: [Element], next: EntryPlace?) {
    try look("Listing \(path)") { (snapshot) throws(ReadingFailure) in
      // The faster others write, the less is read at once.
      let limit = max(1, min(max(1, limit), 1 << 20) >> min(20, 2 * snapshot.attempt))
      var (elements, bytes): ([Element], Int) = ([], 0)
      let next = try withUTF8Bytes(of: prefix) { (prefix) throws(ReadingFailure) in
        try snapshot.scan(prefix, after: place, limit: limit, selection) { (found) throws(ReadingFailure) in
          try note(found, &elements, &bytes)
          return bytes < Self.bytesAtOnce
        }
      }
      return (elements, next)
    }
  }
}

extension CacheReader {
  /// Attempts to look up an entry whose value keeps moving.
  private static let attempts = 100

  /// The live entry under a key with its value.
  ///
  /// - Throws: `.corruptedRecord` if a checksum does not match; `.unsupportedRecord`; `.busy` if it keeps changing.
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
      // The record is unchanged, so the value is not moved but lost.
      if copied.bytes == last?.bytes { throw .corrupted(key) }
      last = copied
    }
    throw CacheError(
      .busy, "The value of \(quoted(key)) is replaced faster than it can be read. Try again when others write less.")
  }

  /// The archived value of a record.
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

  /// Decodes the value of a record.
  ///
  /// - Throws: `.typeMismatch`, `.decodingFailed`, `.missingTransform`.
  package func value<V: Codable>(_ type: V.Type = V.self, of record: EntryRecord) throws(CacheError) -> V {
    try archive(of: record).withBytes { (bytes) throws(CacheError) in
      try ValueArchiver.value(type, from: bytes, format: record.format, forKey: record.key)
    }
  }

  package func value<V: Codable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    try record(forKey: key).map { (record) throws(CacheError) in try value(type, of: record) }
  }

  /// Calls `body` with the archived bytes of the value under a key.
  package func withBytes<R>(forKey key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    try record(forKey: key).map { record in
      try archive(of: record).withUnsafeBytes { try body($0.bytes) }
    }
  }

  // MARK: Many

  /// The records to copy at a time, and their approximate bytes.
  private static let recordsAtOnce = 256

  /// Calls `body` with each entry and its value until it returns `false`. Reads several states, so it may or may not
  /// include entries changed during the call.
  ///
  /// - Parameter onDamage: Called with the error of an unreadable entry; reading continues if it returns.
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
          // If the value moved, read the entry again.
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

package enum EntrySelection {
  /// Entries that a read finds.
  case live
  /// Also entries that only a load finds: expired but kept ones, and absences.
  case kept
  /// All stored entries.
  case all

  func shows(_ header: RecordHeader, at now: Int64) -> Bool {
    switch self {
    case .live: !header.isExpired(at: now)
    case .kept: !header.isOver(at: now)
    case .all: true
    }
  }
}
