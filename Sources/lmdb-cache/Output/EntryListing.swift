import LMDBCaching

/// Entries on standard output, written as they arrive.
struct EntryListing {
  enum Style {
    case table
    /// An array of objects, one per line, so that it can also be read by line.
    case json
    case keys(end: String)
  }

  private let style: Style
  private var table = TextTable([.left, .right, .left, .right, .left, .left])
  private var isEmpty = true

  init(_ style: Style) { self.style = style }

  mutating func write(_ entries: some Collection<CacheEntry>) throws {
    if entries.isEmpty { return }
    switch style {
    case .table:
      if isEmpty { table.append(["KEY", "SIZE", "FORMAT", "COST", "EXPIRES", "CREATED"]) }
      for entry in entries { table.append(Self.row(entry)) }
      try StandardOutput.write(table.takeText())
    case .json:
      let lines = try entries.map { "  " + (try JSONOutput.encode(EntryDescription($0), pretty: false)) }
      try StandardOutput.write((isEmpty ? "[\n" : ",\n") + lines.joined(separator: ",\n"))
    case .keys(let end):
      try StandardOutput.write(entries.map { $0.key + end }.joined())
    }
    isEmpty = false
  }

  /// Call once, after the last entry.
  func end() throws {
    if case .json = style { try StandardOutput.write(isEmpty ? "[]\n" : "\n]\n") }
  }

  private static func row(_ entry: CacheEntry) -> [String] {
    [
      Formatting.key(entry.key), Formatting.grouped(entry.size), "\(entry.format)", Formatting.grouped(entry.cost),
      entry.expiration.map(Formatting.date) ?? "never", Formatting.date(entry.created),
    ]
  }
}
