import Foundation

/// Lossless ISO 8601 text for dates.
///
/// Whole seconds have the original's form ("1950-01-01T05:00:00Z"); other dates have as many fractional digits as
/// needed. A date outside the years 0 to 9999, or too close to 2001 for a fraction, is its number of seconds since
/// 2001. The day arithmetic is Hinnant's ("chrono-compatible low-level date algorithms").
enum ISODate {
  private static let secondsTo2001 = 978_307_200

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
    let whole = interval.rounded(.down)
    guard abs(whole) < 1e12 else { return nil }
    let seconds = Int(whole) + secondsTo2001
    let (days, time) = seconds.floored(by: 86_400)
    let (year, month, day) = civil(days)
    guard 0...9_999 ~= year else { return nil }
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return """
      \(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(time / 3_600, 2)):\
      \(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))\(hasFraction ? fraction(interval - whole) : "")Z
      """
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
    var rest = Array(text.utf8)[...]
    func number(_ count: Int) -> Int? {
      guard rest.count >= count, rest.prefix(count).allSatisfy({ 48...57 ~= $0 }) else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - 48) }
    }
    func pass(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4), pass("-"), let month = number(2), pass("-"), let day = number(2), pass("T"),
      let hour = number(2), pass(":"), let minute = number(2), pass(":"), let second = number(2),
      1...12 ~= month, 1...31 ~= day, hour < 25, minute < 60, second < 61
    else { return nil }
    var fraction = 0.0
    if pass(".") {
      let digits = rest.prefix { 48...57 ~= $0 }
      guard !digits.isEmpty, let number = Double("0." + String(decoding: digits, as: UTF8.self)) else { return nil }
      fraction = number
      rest = rest.dropFirst(digits.count)
    }
    var offset = 0
    if !pass("Z") {
      let sign = pass("+") ? 1 : pass("-") ? -1 : 0
      guard sign != 0, let hours = number(2) else { return nil }
      _ = pass(":")
      guard let minutes = number(2) else { return nil }
      offset = sign * (hours * 3_600 + minutes * 60)
    }
    guard rest.isEmpty else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
    return Date(timeIntervalSinceReferenceDate: Double(seconds - secondsTo2001) + fraction)
  }

  /// The date that is `days` days after 1970-01-01.
  private static func civil(_ days: Int) -> (Int, Int, Int) {
    let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floored(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension Int {
  /// Quotient and nonnegative remainder.
  fileprivate func floored(by divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
