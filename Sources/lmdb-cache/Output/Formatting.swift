import Foundation

/// Numbers, dates and keys as people read them, the same in every locale.
enum Formatting {
  /// With a comma between groups of three digits.
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

  /// What a B+ tree consists of.
  static func tree(levels: Int, _ branchPages: Int, _ leafPages: Int, _ overflowPages: Int) -> String {
    "\(levels) levels, \(grouped(branchPages)) branch, \(grouped(leafPages)) leaf and \(grouped(overflowPages)) overflow pages"
  }

  /// To the second, in UTC.
  static func date(_ date: Date) -> String { date.formatted(.iso8601) }

  /// A key on one line of a table: what would move the cursor is escaped as in a Swift string.
  static func key(_ key: String) -> String {
    var text = ""
    for scalar in key.unicodeScalars {
      switch scalar {
      case "\n", "\r", "\t", "\\", "\0": text += scalar.escaped(asASCII: false)
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return text
  }
}
