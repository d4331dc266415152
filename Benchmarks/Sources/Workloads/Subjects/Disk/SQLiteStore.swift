import CReference
import Foundation
import GRDB
import GRDBSQLite

/// SQLite with a write-ahead log. GRDB opens it and caches prepared statements; SQLite's own functions step them, and a
/// round is one access to the connection, so that GRDB's queue and conversions do not count.
///
/// The pragmas suit a cache: `synchronous=NORMAL` does not wait for the disk in a commit; a large page cache and a
/// memory map serve reads.
final class SQLiteStore: DiskSubject {
  private let queue: DatabaseQueue
  private let buffer: UnsafeMutableRawBufferPointer

  init(_ directory: URL, _ valueSize: Int) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA synchronous = NORMAL;
          PRAGMA cache_size = -65536;
          PRAGMA mmap_size = 1073741824;
          PRAGMA temp_store = MEMORY;
          """)
    }
    queue = try DatabaseQueue(path: directory.appendingPathComponent("cache.sqlite").path, configuration: configuration)
    buffer = .allocate(byteCount: valueSize, alignment: 16)
    try queue.writeWithoutTransaction { database in
      // SQLite's documentation advises `WITHOUT ROWID` only for small rows.
      try database.execute(
        sql: "CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL)"
          + (valueSize <= 200 ? " WITHOUT ROWID" : ""))
    }
  }

  deinit { buffer.deallocate() }

  func set(_ keys: KeyList, _ value: Data) throws {
    try queue.writeWithoutTransaction { database in try put(keys.raw[...], value, database) }
  }

  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
    for start in stride(from: 0, to: keys.count, by: size) {
      try queue.writeWithoutTransaction { database in
        try database.inTransaction(.immediate) {
          try put(keys.raw[start..<min(start + size, keys.count)], value, database)
          return .commit
        }
      }
    }
  }

  func get(_ keys: KeyList) throws {
    try each(keys, "SELECT value FROM entry WHERE key = ?") { statement in
      guard sqlite3_step(statement) == SQLITE_ROW, sqlite3_column_bytes(statement, 0) == buffer.count,
        let bytes = sqlite3_column_blob(statement, 0)
      else { return false }
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: buffer.count))
      return true
    }
  }

  func getMissing(_ keys: KeyList) throws {
    try each(keys, "SELECT value FROM entry WHERE key = ?") { sqlite3_step($0) == SQLITE_DONE }
  }

  func value(_ keys: KeyList, at place: Int) throws -> Data? {
    try queue.read { database in
      try Data.fetchOne(database, sql: "SELECT value FROM entry WHERE key = ?", arguments: [keys.strings[place]])
    }
  }

  func remove(_ keys: KeyList) throws {
    try each(keys, "DELETE FROM entry WHERE key = ?") { sqlite3_step($0) == SQLITE_DONE }
  }

  func settle() throws {
    _ = try queue.writeWithoutTransaction { database in try database.checkpoint(.truncate) }
  }

  func close() throws { try queue.close() }

  // MARK: Statements

  private func put(_ keys: Slice<UnsafeMutableBufferPointer<reference_key>>, _ value: Data, _ database: Database) throws
  {
    let sql = "INSERT INTO entry (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    let statement = try database.cachedStatement(sql: sql).sqliteStatement
    try value.withUnsafeBytes { value in
      for key in keys {
        sqlite3_bind_text(statement, 1, key.text, Int32(key.count), nil)
        sqlite3_bind_blob(statement, 2, value.baseAddress, Int32(value.count), nil)
        let status = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard status == SQLITE_DONE else { throw WorkloadError("SQLite: status \(status)") }
      }
    }
  }

  private func each(_ keys: KeyList, _ sql: String, _ body: (OpaquePointer) -> Bool) throws {
    try queue.writeWithoutTransaction { database in
      let statement = try database.cachedStatement(sql: sql).sqliteStatement
      for key in keys.raw {
        sqlite3_bind_text(statement, 1, key.text, Int32(key.count), nil)
        let isExpected = body(statement)
        sqlite3_reset(statement)
        guard isExpected else { throw WorkloadError("SQLite: \(database.lastErrorMessage ?? "not what was set")") }
      }
    }
  }
}

extension reference_key {
  var text: UnsafePointer<CChar> { bytes.assumingMemoryBound(to: CChar.self) }
}
