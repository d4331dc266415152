struct TextTable {
  enum Alignment { case left, right }

  let alignments: [Alignment]
  private(set) var rows: [[String]] = []
  private var widths: [Int]

  init(_ alignments: [Alignment]) {
    self.alignments = alignments
    widths = alignments.map { _ in 0 }
  }

  mutating func append(_ row: [String]) { rows.append(row) }

  /// The maximum width of a column: a longer cell shifts only its own line.
  static let widest = 48

  var text: String {
    var table = self
    return table.takeText()
  }

  /// Removes the rows and returns their text. Later columns are at least as wide.
  mutating func takeText() -> String {
    for column in alignments.indices {
      widths[column] = max(widths[column], min(Self.widest, rows.lazy.map { $0[column].count }.max() ?? 0))
    }
    defer { rows.removeAll(keepingCapacity: true) }
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
