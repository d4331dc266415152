import Foundation

/// A row of bars with heights by number.
enum Sparkline {
  private static let blocks = Array("▁▂▃▄▅▆▇█")
  private static let letters = Array("_.-~:=+#")

  /// Whether the terminal uses Unicode, by the usual variables.
  static let isUnicode: Bool = {
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }()

  /// The last numbers that fit; unknown ones leave a gap.
  ///
  /// - Parameter greatest: The number of the highest bar; `nil` for the greatest number shown.
  static func text(
    _ numbers: [Double?], width: Int, greatest: Double? = nil, isUnicode: Bool = isUnicode
  ) -> String {
    let shown = numbers.suffix(max(0, width))
    let top = greatest ?? shown.lazy.compactMap(\.self).max() ?? 0
    let bars = isUnicode ? blocks : letters
    return String(
      shown.map { number -> Character in
        guard let number, number.isFinite else { return " " }
        if top <= 0 { return bars[0] }
        let part = min(max(number / top, 0), 1)
        return bars[min(bars.count - 1, Int(part * Double(bars.count)))]
      })
  }
}
