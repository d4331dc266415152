import Foundation

/// Locale-independent formatting of numbers, dates and keys.
enum Formatting {
  /// With commas between groups of three digits.
  static func grouped(_ number: some BinaryInteger) -> String {
    var digits = Array(String(number.magnitude))
    var position = digits.count - 3
    while position > 0 {
      digits.insert(",", at: position)
      position -= 3
    }
    return (number < 0 ? "-" : "") + String(digits)
  }

  /// With a fixed number of decimals, rounded.
  static func decimal(_ number: Double, places: Int) -> String { String(format: "%.\(places)f", number) }

  /// Bytes to three digits: 999 B, 1.23 kB, 45.6 MB (powers of 1,000).
  static func bytes(_ bytes: Int) -> String {
    if abs(bytes) < 1_000 { return "\(bytes) B" }
    return scaled(Double(bytes), ["kB", "MB", "GB", "TB", "PB", "EB"], by: 1_000)
  }

  /// A time to three digits: 87 ns, 1.23 µs, 45.6 ms, 12.3 s.
  static func time(nanoseconds: Int) -> String {
    if nanoseconds < 1_000 { return "\(nanoseconds) ns" }
    return scaled(Double(nanoseconds), ["µs", "ms", "s"], by: 1_000)
  }

  private static func scaled(_ number: Double, _ units: [String], by factor: Double) -> String {
    var number = number / factor
    var unit = 0
    // A number that rounds to 1000 is 1 of the next unit.
    while number >= 999.5, unit < units.count - 1 {
      number /= factor
      unit += 1
    }
    return decimal(number, places: number < 9.995 ? 2 : number < 99.95 ? 1 : 0) + " " + units[unit]
  }

  /// A rate per second: integers from 10 up.
  static func rate(_ rate: Double) -> String {
    // Impossibly fast; a foreign statistics block may say so.
    if !(rate < 1e15) { return "-" }
    return rate < 9.95 && rate != rate.rounded() ? decimal(rate, places: 1) : grouped(Int(rate.rounded()))
  }

  static func percentage(_ part: Double) -> String { decimal(part * 100, places: 1) + " %" }

  /// A duration in its largest units: 12 s, 3 min, 4 h 5 min, 6 d 7 h.
  static func age(seconds: Int) -> String {
    switch max(0, seconds) {
    case let seconds where seconds < 60: "\(seconds) s"
    case let seconds where seconds < 3_600: "\(seconds / 60) min"
    case let seconds where seconds < 86_400: "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    case let seconds: "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
    }
  }

  /// - Parameter width: Negative to align right.
  static func padded(_ text: String, _ width: Int) -> String {
    let padding = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? padding + text : text + padding
  }

  static func date(_ date: Date) -> String { date.formatted(.iso8601) }

  /// A key on one line: characters that move the cursor are escaped as in a Swift string.
  static func key(_ key: String) -> String { visible(key, escaping: ["\n", "\r", "\t", "\\", "\0"]) }

  /// One line of our text, with names or keys in it. Escaped ones stay as they are.
  static func line(_ text: String) -> String { visible(text, escaping: ["\n", "\r", "\t", "\0"]) }

  /// A message whose later lines are indented, so that none looks like another message.
  static func message(_ text: String) -> String { lines(text).replacing("\n", with: "\n  ") }

  /// Lines of text with invisible and display-changing characters escaped as in a Swift string.
  static func lines(_ text: String) -> String { visible(text, escaping: ["\r", "\0"], keeping: ["\n", "\t"]) }

  private static func visible(
    _ string: String, escaping escaped: Set<Unicode.Scalar>, keeping kept: Set<Unicode.Scalar> = []
  ) -> String {
    var text = String.UnicodeScalarView()
    for scalar in string.unicodeScalars {
      if escaped.contains(scalar) {
        text.append(contentsOf: scalar.escaped(asASCII: false).unicodeScalars)
        continue
      }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        text.append(contentsOf: kept.contains(scalar) ? [scalar] : Array(scalar.escaped(asASCII: true).unicodeScalars))
      default: text.append(scalar)
      }
    }
    return String(text)
  }
}

/// Untrusted text in displayable form.
enum VisibleText {
  /// Drops an incomplete character at the end.
  static func whole(_ bytes: some BidirectionalCollection<UInt8>) -> String {
    var bytes = bytes[...]
    // A character has at most four bytes.
    for _ in 0..<4 {
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      _ = bytes.popLast()
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the data is UTF-8 without control characters other than those allowed.
  ///
  /// - Parameter limit: The number of bytes to examine.
  static func isText(
    _ data: Data, upTo limit: Int = .max, allowing controls: Set<Unicode.Scalar> = ["\n", "\t"]
  ) -> Bool {
    let part = data.prefix(limit)
    // The last character, of up to four bytes, may be cut.
    let cuts = part.count < data.count ? 0..<4 : 0..<1
    guard let text = cuts.lazy.compactMap({ String(validating: part.dropLast($0), as: UTF8.self) }).first else {
      return false
    }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control || controls.contains($0) }
  }
}
