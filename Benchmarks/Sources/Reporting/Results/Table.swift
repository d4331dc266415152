import Foundation

/// The results of one workload for the terminal.
public struct Table {
  private let title: String
  private let results: [SubjectResult]

  public init(_ title: String, _ results: [SubjectResult]) {
    self.title = title
    self.results = results
  }

  /// Ratios are to the first subject with as many threads, which is ours if present.
  public var text: String {
    var rows = [["", "threads", "min", "median", "ratio", ""]]
    for result in results {
      let first = results.first { $0.threads == result.threads } ?? result
      let ratio = result.nanosecondsPerOperation.median / first.nanosecondsPerOperation.median
      rows.append([
        result.subject, String(result.threads), Self.time(result.nanosecondsPerOperation.min),
        Self.time(result.nanosecondsPerOperation.median), Self.number(ratio) + " ×",
        result.readings.sorted { $0.key < $1.key }.map { "\($0.key) \(Self.number($0.value))" }.joined(separator: ", "),
      ])
    }
    return "\n\(title)\n" + Self.lines(rows)
  }

  /// Aligns columns: the first and the last to the left, others to the right.
  static func lines(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).enumerated().map { column, cell in
        let space = String(repeating: " ", count: cell.1 - cell.0.count)
        return column == 0 || column == row.count - 1 ? cell.0 + space : space + cell.0
      }
      let line = "  " + cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  static func time(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1e4: number(nanoseconds) + " ns"
    case ..<1e7: number(nanoseconds / 1e3) + " µs"
    case ..<1e9: number(nanoseconds / 1e6) + " ms"
    default: number(nanoseconds / 1e9) + " s"
    }
  }

  /// Three digits.
  static func number(_ value: Double) -> String {
    value >= 100 ? String(Int(value.rounded())) : String(format: "%.3g", value)
  }
}
