package import Foundation

extension Date {
  /// As in ISO 8601; `nil` for what no calendar has, or no number: Foundation's style ends the process for such.
  package func iso8601Text(includingFractionalSeconds: Bool) -> String? {
    guard abs(timeIntervalSinceReferenceDate) < 1e11 else { return nil }
    return formatted(ISO8601FormatStyle(includingFractionalSeconds: includingFractionalSeconds))
  }
}
