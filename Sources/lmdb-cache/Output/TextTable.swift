/// Lines of cells in aligned columns, two spaces apart.
struct TextTable {
  enum Alignment { case left, right }

  let alignments: [Alignment]
  private(set) var rows: [[String]] = []

  init(_ alignments: [Alignment]) { self.alignments = alignments }

  mutating func append(_ row: [String]) { rows.append(row) }

  /// The widest a column gets: a longer cell moves only its own line.
  static let widest = 48

  var text: String {
    let widths = alignments.indices.map { column in
      min(Self.widest, rows.lazy.map { $0[column].count }.max() ?? 0)
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
        line += (column == 0 ? "" : "  ") + (alignments[column] == .left ? cell + padding : padding + cell)
      }
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}
