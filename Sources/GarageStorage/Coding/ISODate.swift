import Foundation

/// Lossless ISO 8601 text for dates ("1950-01-01T05:00:00Z"), with as many fractional digits as needed. A date outside
/// the years 1600 to 9999, or too close to 2001 for a fraction, is its number of seconds since 2001.
enum ISODate {
  private static let years = -12_654_403_200.0..<252_423_993_600.0

  static func encode(_ date: Date, to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let text = text(of: date), self.date(of: text) == date {
      try container.encode(text)
    } else {
      try container.encode(date.timeIntervalSinceReferenceDate)
    }
  }

  static func decode(from decoder: any Decoder) throws -> Date {
    let container = try decoder.singleValueContainer()
    if let interval = try? container.decode(Double.self) { return Date(timeIntervalSinceReferenceDate: interval) }
    let text = try container.decode(String.self)
    guard let date = date(of: text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" is not a date of ISO 8601")
    }
    return date
  }

  static func text(of date: Date, hasFraction: Bool = true) -> String? {
    let interval = date.timeIntervalSinceReferenceDate
    guard years.contains(interval) else { return nil }
    let whole = interval.rounded(.down)
    let text = Date(timeIntervalSinceReferenceDate: whole).ISO8601Format()
    return hasFraction ? text.dropLast() + fraction(interval - whole) + "Z" : text
  }

  /// ".25" for 0.25, empty for 0. The number is in 0..<1; the text is exact.
  private static func fraction(_ number: Double) -> String {
    guard number > 0 else { return "" }
    let text = String(number)
    guard let exponent = text.firstIndex(of: "e") else { return String(text.dropFirst()) }
    let digits = text[..<exponent].filter { $0 != "." }
    let zeros = -(Int(text[text.index(after: exponent)...]) ?? -1) - 1
    return "." + String(repeating: "0", count: zeros) + digits
  }

  static func date(of text: String) -> Date? {
    // Foundation ignores fractions, and what follows the zone.
    var zone = text.dropFirst(19)
    var fraction = 0.0
    if zone.first == "." {
      let digits = zone.dropFirst().prefix { $0.isNumber }
      guard !digits.isEmpty, let number = Double("0.\(digits)") else { return nil }
      fraction = number
      zone = zone.dropFirst(1 + digits.count)
    }
    guard zone == "Z" || [5, 6].contains(zone.count) && "+-".contains(zone.first ?? " "),
      zone.dropFirst().allSatisfy({ $0.isWholeNumber || $0 == ":" }),
      // The error only says that it is no date.
      let date = try? Date(text.prefix(19) + zone, strategy: .iso8601)
    else { return nil }
    return date + fraction
  }
}
