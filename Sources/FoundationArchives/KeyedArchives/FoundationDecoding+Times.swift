#if !canImport(Darwin)
  import Foundation

  extension FoundationDecoding {
    static let times: [FoundationDecoding] = [
      make(NSDateInterval.self) { reader in
        guard let start = reader.object(NSDate.self, forKey: "NS.startDate"),
          let end = reader.object(NSDate.self, forKey: "NS.endDate"),
          end.timeIntervalSinceReferenceDate >= start.timeIntervalSinceReferenceDate
        else { return nil }
        return NSDateInterval(
          start: Date(timeIntervalSinceReferenceDate: start.timeIntervalSinceReferenceDate),
          duration: end.timeIntervalSinceReferenceDate - start.timeIntervalSinceReferenceDate)
      },
      make(NSLocale.self) { reader in
        reader.string(forKey: "NS.identifier").flatMap {
          $0.utf8.count <= 256 ? NSLocale(localeIdentifier: $0) : nil
        }
      },
      make(NSTimeZone.self) { reader in
        reader.string(forKey: "NS.name").flatMap { isZoneName($0) ? NSTimeZone(name: $0) : nil }
      },
      make(NSCalendar.self) { reader in
        guard let name = reader.string(forKey: "NS.identifier"),
          case let identifier = NSCalendar.Identifier(rawValue: name), identifiers.contains(identifier),
          let calendar = NSCalendar(identifier: identifier)
        else { return nil }
        if let locale = reader.object(NSLocale.self, forKey: "NS.locale") {
          calendar.locale = locale as Locale
        }
        if let zone = reader.object(NSTimeZone.self, forKey: "NS.timezone") { calendar.timeZone = zone as TimeZone }
        if reader.containsValue(forKey: "NS.firstwkdy") {
          let day = reader.integer(forKey: "NS.firstwkdy", Int.self)
          guard (1...7).contains(day) else { return nil }
          calendar.firstWeekday = day
        }
        if reader.containsValue(forKey: "NS.mindays") {
          let days = reader.integer(forKey: "NS.mindays", Int.self)
          guard (1...7).contains(days) else { return nil }
          calendar.minimumDaysInFirstWeek = days
        }
        return calendar
      },
      make(NSDateComponents.self) { reader in
        let components = NSDateComponents()
        for (key, path) in componentPaths where reader.containsValue(forKey: key) {
          let value = reader.integer(forKey: key, Int.self)
          if value != NSDateComponentUndefined { components[keyPath: path] = value }
        }
        if reader.decodeBool(forKey: "NS.isLeapMonth") { components.isLeapMonth = true }
        if let zone = reader.object(NSTimeZone.self, forKey: "NS.timezone") { components.timeZone = zone as TimeZone }
        if let calendar = reader.object(NSCalendar.self, forKey: "NS.calendar") {
          components.calendar = calendar as Calendar
        }
        return components
      },
      make(ISO8601DateFormatter.self) { reader in
        guard reader.containsValue(forKey: "NS.formatOptions") else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = ISO8601DateFormatter.Options(
          rawValue: reader.integer(forKey: "NS.formatOptions", UInt.self))
        if let zone = reader.object(NSTimeZone.self, forKey: "NS.timeZone") { formatter.timeZone = zone as TimeZone }
        return formatter
      },
    ]

    private static let componentPaths: [(String, any ReferenceWritableKeyPath<NSDateComponents, Int> & Sendable)] = [
      ("NS.era", \.era), ("NS.year", \.year), ("NS.month", \.month), ("NS.day", \.day), ("NS.hour", \.hour),
      ("NS.minute", \.minute), ("NS.second", \.second), ("NS.nanosec", \.nanosecond), ("NS.weekday", \.weekday),
      ("NS.weekdayOrdinal", \.weekdayOrdinal), ("NS.quarter", \.quarter), ("NS.weekOfYear", \.weekOfYear),
      ("NS.weekOfMonth", \.weekOfMonth), ("NS.yearForWOY", \.yearForWeekOfYear),
    ]

    /// Names of time zones are looked for as files: nothing that leads elsewhere.
    private static func isZoneName(_ name: String) -> Bool {
      !name.isEmpty && name.utf8.count <= 64 && !name.contains("..") && !name.hasPrefix("/")
        && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static let identifiers: Set<NSCalendar.Identifier> = [
      .gregorian, .buddhist, .chinese, .coptic, .ethiopicAmeteMihret, .ethiopicAmeteAlem, .hebrew, .ISO8601, .indian,
      .islamic, .islamicCivil, .japanese, .persian, .republicOfChina, .islamicTabular, .islamicUmmAlQura,
    ]
  }
#endif
