import Foundation

/// Dates in RFC 3339 §5.6 text: "2013-03-21T20:04:00Z", optionally with fractional seconds, and with "Z" or a UTC
/// offset.
enum RFC3339Date {
  /// Days of a common year before each month, and before the next year.
  private static let monthStarts = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

  /// Returns `nil` for other text and invalid dates. A leap second becomes the following second.
  static func date(of text: String) -> Date? {
    var text = text
    return text.withUTF8 { bytes in
      var scanner = Scanner(bytes: bytes)
      return scanner.date()
    }
  }

  private struct Scanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func date() -> Date? {
      guard let year = number(4), pass("-"), let month = number(2), pass("-"), let day = number(2),
        let days = RFC3339Date.days(year, month, day), pass("T") || pass("t"),
        let hour = number(2), hour < 24, pass(":"), let minute = number(2), minute < 60, pass(":"),
        let second = number(2), second <= 60, let fraction = fraction(), let offset = offset(), index == bytes.count
      else { return nil }
      let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
      return Date(timeIntervalSinceReferenceDate: Double(seconds - Int(CBORDateForm.epochOffset)) + fraction)
    }

    /// Parses exactly `count` digits.
    private mutating func number(_ count: Int) -> Int? {
      guard bytes.count - index >= count else { return nil }
      var number = 0
      for _ in 0..<count {
        guard 0x30...0x39 ~= bytes[index] else { return nil }
        number = number * 10 + Int(bytes[index] - 0x30)
        index += 1
      }
      return number
    }

    private mutating func pass(_ character: Unicode.Scalar) -> Bool {
      guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
      index += 1
      return true
    }

    /// Parses an optional fraction; extra digits are ignored. 0 if missing.
    private mutating func fraction() -> Double? {
      guard pass(".") else { return 0 }
      let start = index
      while index < bytes.count, 0x30...0x39 ~= bytes[index] { index += 1 }
      guard index > start else { return nil }
      return Double("0." + String(decoding: bytes[start..<min(index, start + 40)], as: UTF8.self))
    }

    /// In seconds, positive to the east.
    private mutating func offset() -> Int? {
      if pass("Z") || pass("z") { return 0 }
      let sign = pass("+") ? 1 : pass("-") ? -1 : 0
      guard sign != 0, let hours = number(2), hours < 24, pass(":"), let minutes = number(2), minutes < 60 else {
        return nil
      }
      return sign * (hours * 3_600 + minutes * 60)
    }
  }

  /// Days from 1970-01-01 to a date of the proleptic Gregorian calendar, or `nil` for an invalid date.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    guard 1...12 ~= month else { return nil }
    let start = monthStarts[month - 1] + (isLeap && month > 2 ? 1 : 0)
    let end = monthStarts[month] + (isLeap && month > 1 ? 1 : 0)
    guard 1...(end - start) ~= day else { return nil }
    // Leap days of earlier years; none before year 0.
    let before = year - 1
    let leapDays = year == 0 ? 0 : before / 4 - before / 100 + before / 400 + 1
    return year * 365 + leapDays + start + day - 1 - 719_528
  }
}
