import CSQLite
import Foundation

/// Writes a YYCache directory: its documented table, and a `data` folder.
final class YYCacheWriter {
  private var connection: OpaquePointer?
  private let directory: URL

  static let table = """
    CREATE TABLE manifest (key text, filename text, size integer, inline_data blob, modification_time integer, \
    last_access_time integer, extended_data blob, primary key(key)); \
    CREATE INDEX last_access_time_idx ON manifest(last_access_time)
    """

  struct Failure: Error { let status: Int32 }

  init(at directory: URL, makesTable: Bool = true) throws {
    self.directory = directory
    try FileManager.default.createDirectory(
      at: directory.appendingPathComponent("data"), withIntermediateDirectories: true)
    try check(sqlite3_open(directory.appendingPathComponent("manifest.sqlite").path, &connection))
    if makesTable { try execute(Self.table) }
  }

  deinit { sqlite3_close(connection) }

  private func check(_ status: Int32) throws {
    if status != SQLITE_OK && status != SQLITE_DONE { throw Failure(status: status) }
  }

  func execute(_ sql: String) throws { try check(sqlite3_exec(connection, sql, nil, nil, nil)) }

  /// Adds a row, with its value inline, or in a file if that is named.
  func add(
    _ key: String, _ value: Data?, file: String? = nil, size: Int? = nil, modified: Int = 1_600_000_000,
    accessed: Int = 1_650_000_000, extended: Data? = nil
  ) throws {
    if let file, let value { try value.write(to: directory.appendingPathComponent("data/" + file)) }
    try add(
      "?1, ?2, \(size ?? value?.count ?? 0), ?3, \(modified), \(accessed), ?4", key, file,
      file == nil ? value : nil, extended)
  }

  /// Adds a row with SQL for the values of the seven columns.
  func add(_ values: String, _ key: String, _ file: String?, _ inline: Data?, _ extended: Data?) throws {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(connection, "INSERT INTO manifest VALUES (\(values))", -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    // Makes SQLite copy the bytes.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    try bind(key.withCString { sqlite3_bind_text(statement, 1, $0, Int32(key.utf8.count), transient) })
    if let file { try bind(sqlite3_bind_text(statement, 2, file, -1, transient)) }
    for (index, data) in [(Int32(3), inline), (4, extended)] {
      guard let data else { continue }
      try bind(
        data.isEmpty
          ? sqlite3_bind_zeroblob(statement, index, 0)
          : data.withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, Int32(data.count), transient) })
    }
    try check(sqlite3_step(statement))
  }

  /// Ignores parameters that a row does not use.
  private func bind(_ status: Int32) throws { if status != SQLITE_RANGE { try check(status) } }
}
