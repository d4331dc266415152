#if !canImport(Darwin)
  package import Foundation

  package enum DateComponentField {
    package typealias Path = any ReferenceWritableKeyPath<NSDateComponents, Int> & Sendable

    package static let all: [(key: FieldKey, path: Path)] = [
      (FieldKey("era", "NS.era"), \.era), (FieldKey("year", "NS.year"), \.year),
      (FieldKey("month", "NS.month"), \.month), (FieldKey("day", "NS.day"), \.day),
      (FieldKey("hour", "NS.hour"), \.hour), (FieldKey("minute", "NS.minute"), \.minute),
      (FieldKey("second", "NS.second"), \.second), (FieldKey("nanosecond", "NS.nanosec"), \.nanosecond),
      (FieldKey("weekday", "NS.weekday"), \.weekday),
      (FieldKey("weekdayOrdinal", "NS.weekdayOrdinal"), \.weekdayOrdinal),
      (FieldKey("quarter", "NS.quarter"), \.quarter), (FieldKey("weekOfYear", "NS.weekOfYear"), \.weekOfYear),
      (FieldKey("weekOfMonth", "NS.weekOfMonth"), \.weekOfMonth),
      (FieldKey("yearForWeekOfYear", "NS.yearForWOY"), \.yearForWeekOfYear),
    ]
  }
#endif
