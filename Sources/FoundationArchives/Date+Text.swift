package import Foundation

extension Date {
  /// ISO 8601 text; `nil` for dates outside any calendar and for NaN, for which Foundation's style ends the process.
  package func iso8601Text(includingFractionalSeconds: Bool) -> String? {
    guard abs(timeIntervalSinceReferenceDate) < 1e11 else { return nil }
    return formatted(ISO8601FormatStyle(includingFractionalSeconds: includingFractionalSeconds))
  }
}
