import Foundation

/// The rows of YYCache's manifest, in SQLite's order.
///
/// Unreadable rows are skipped. If the next row's number is unreadable, the rest is read backward from the end to the
/// damage.
final class ManifestRows {
  struct Row {
    let number: Int64
    let key: SQLiteStatement.Text
    let file: SQLiteStatement.Text
    let size: Int?
    let inlineLength: Int
    /// Seconds since 1970.
    let modified: Int64?
    let lastAccess: Int64?
    let extendedLength: Int
  }

  enum Found {
    case row(Row)
    case unreadable(Int64, SQLiteError)
  }

  private enum Position {
    /// Next are rows after this one.
    case forward(after: Int64)
    /// Next are rows between these, backward. The rows above are readable except for `damage`.
    case backward(after: Int64, before: Int64, damage: SQLiteError)
    case end
  }

  private static let columns = [
    "key", "filename", "size", "inline_data", "modification_time", "last_access_time", "extended_data",
  ]
  // These read no value: SQLite knows a blob's length without it.
  private static let row = """
    SELECT rowid, key, filename, size, length(inline_data), modification_time, last_access_time, length(extended_data) \
    FROM main.manifest WHERE rowid > ?1
    """

  private let file: ManifestFile
  private let path: String
  private let forward: SQLiteStatement
  private let backward: SQLiteStatement
  private let following: SQLiteStatement
  private let value: SQLiteStatement
  private var position = Position.forward(after: .min)

  init(_ file: ManifestFile, _ path: String) throws(ImportError) {
    self.file = file
    self.path = path
    let database = file.database
    let reason: String?
    do throws(SQLiteError) {
      reason = try Self.foreignness(of: database)
    } catch {
      throw ManifestFile.failure(error, path)
    }
    if let reason { throw ImportError(.foreignSource, "\(path) is no manifest of YYCache: \(reason).") }
    do throws(SQLiteError) {
      forward = try database.prepare(Self.row + " ORDER BY rowid")
      backward = try database.prepare(Self.row + " AND rowid < ?2 ORDER BY rowid DESC")
      following = try database.prepare("SELECT rowid FROM main.manifest WHERE rowid > ?1 ORDER BY rowid LIMIT 1")
      value = try database.prepare("SELECT inline_data FROM main.manifest WHERE rowid = ?1")
      try forward.restart(.min)
    } catch {
      throw ManifestFile.failure(error, path)
    }
  }

  /// The reason why the database is not YYCache's; `nil` if it may be.
  private static func foreignness(of database: SQLiteDatabase) throws(SQLiteError) -> String? {
    let tables = try database.prepare("SELECT type, sql FROM main.sqlite_master WHERE name = 'manifest'")
    guard try tables.step() else { return "it has no table of this name" }
    guard case .text("table") = tables.text(0), case .text(let definition) = tables.text(1),
      !definition.uppercased().hasPrefix("CREATE VIRTUAL")
    else { return "what has this name is no table of its own" }
    if definition.uppercased().contains("WITHOUT ROWID") { return "the table has no numbers of rows" }
    let information = try database.prepare("PRAGMA main.table_xinfo(manifest)")
    var found: Set<String> = []
    while try information.step() {
      // Computed columns may contain anything.
      if case .text(let name) = information.text(1), information.integer(6) == 0 { found.insert(name.lowercased()) }
    }
    if found.contains("rowid") { return "a column hides the numbers of the rows" }
    let missing = columns.filter { !found.contains($0) }
    return missing.isEmpty ? nil : "the table has no \(missing.joined(separator: ", "))"
  }

  /// The number of rows; `nil` if unknown, which does not prevent reading.
  func count() -> Int? {
    do throws(SQLiteError) {
      // Cyclic pages would give endless rows.
      let statement = try file.database.prepare("SELECT count(*) FROM (SELECT 1 FROM main.manifest LIMIT ?1)")
      try statement.restart(Int64(file.greatestRowCount))
      return try statement.step() ? statement.integer(0).map { Int($0) } : nil
    } catch {
      return nil
    }
  }

  /// The value in a row; `nil` for none.
  func inlineData(of row: Row) throws(SQLiteError) -> Data? {
    try value.restart(row.number)
    return try value.step() ? try value.data(0) : nil
  }

  /// - Throws: At the end, if some rows could not be found.
  func next() throws(ImportError) -> Found? {
    while true {
      switch position {
      case .forward(let last):
        if let found = try nextForward(after: last) { return found }
      case .backward(let lower, let upper, let damage): return try nextBackward(lower, upper, damage)
      case .end:
        if try file.hasChanged() {
          throw ImportError(
            .sourceInUse, "\(path) was written to while it was read. End the program that uses it, and import again.")
        }
        return nil
      }
    }
  }

  /// Returns `nil` if the direction changes.
  private func nextForward(after last: Int64) throws(ImportError) -> Found? {
    let failure: SQLiteError
    do throws(SQLiteError) {
      guard try forward.step() else {
        position = .end
        return nil
      }
      if let row = Self.row(of: forward), row.number > last {
        position = .forward(after: row.number)
        return .row(row)
      }
      failure = Self.disorder
    } catch {
      failure = error
    }
    do throws(SQLiteError) {
      if let number = try numberFollowing(last), number > last {
        try forward.restart(number)
        position = .forward(after: number)
        return .unreadable(number, failure)
      }
    } catch {
      // The same damage at the next row's place.
    }
    do throws(SQLiteError) { try backward.restart(last, .max) } catch { throw ManifestFile.failure(error, path) }
    position = .backward(after: last, before: .max, damage: failure)
    return nil
  }

  private func nextBackward(_ lower: Int64, _ upper: Int64, _ damage: SQLiteError) throws(ImportError) -> Found? {
    do throws(SQLiteError) {
      if try backward.step(), let row = Self.row(of: backward), row.number > lower, row.number < upper {
        position = .backward(after: lower, before: row.number, damage: damage)
        return .row(row)
      }
    } catch {
      // The damage, reached from the other side.
    }
    position = .end
    let above = upper == .max ? "" : " and before row \(upper)"
    throw ImportError(
      .damagedSource,
      "\(path) is damaged: what is after row \(lower == .min ? 0 : lower)\(above) could not be read. All else was.",
      underlying: damage)
  }

  private func numberFollowing(_ number: Int64) throws(SQLiteError) -> Int64? {
    try following.restart(number)
    return try following.step() ? following.integer(0) : nil
  }

  private static let disorder = SQLiteError(code: 11, message: "rows are not in their order")

  private static func row(of statement: SQLiteStatement) -> Row? {
    guard let number = statement.integer(0) else { return nil }
    return Row(
      number: number, key: statement.text(1), file: statement.text(2), size: statement.integer(3).map { Int($0) },
      inlineLength: statement.integer(4).map { Int($0) } ?? 0, modified: statement.integer(5),
      lastAccess: statement.integer(6), extendedLength: statement.integer(7).map { Int($0) } ?? 0)
  }
}
