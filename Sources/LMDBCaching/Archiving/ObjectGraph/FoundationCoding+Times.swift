#if !canImport(Darwin)
  import Foundation

  extension FoundationCoding {
    static let times: [FoundationCoding] = [
      make(NSDateInterval.self, hashing: .fragile) { interval, coder in
        coder.encode(interval.startDate as Any?, forKey: "start")
        coder.encode(interval.duration, forKey: "duration")
      } decode: { coder in
        guard let start = coder.decodeObject(of: NSDate.self, forKey: "start"),
          case let duration = coder.decodeDouble(forKey: "duration"), duration >= 0
        else { return nil }
        return NSDateInterval(
          start: Date(timeIntervalSinceReferenceDate: start.timeIntervalSinceReferenceDate), duration: duration)
      },
      make(NSLocale.self) { locale, coder in
        coder.encode(locale.object(forKey: .identifier) as? String, forKey: "identifier")
      } decode: { coder in
        coder.string(forKey: "identifier").map { NSLocale(localeIdentifier: $0) }
      },
      make(NSTimeZone.self) { zone, coder in
        coder.encode(zone.name as String?, forKey: "name")
      } decode: { coder in
        coder.string(forKey: "name").flatMap { isZoneName($0) ? NSTimeZone(name: $0) : nil }
      },
      make(NSCalendar.self) { calendar, coder in
        coder.encode(calendar.calendarIdentifier.rawValue as String?, forKey: "identifier")
        if let locale = calendar.locale { coder.encode(locale as Any?, forKey: "locale") }
        coder.encode(calendar.timeZone as Any?, forKey: "timeZone")
        coder.encode(calendar.firstWeekday, forKey: "firstWeekday")
        coder.encode(calendar.minimumDaysInFirstWeek, forKey: "minimumDaysInFirstWeek")
      } decode: { coder in
        decodeCalendar(coder)
      },
      make(NSDateComponents.self) { components, coder in
        for (key, path) in componentPaths where components[keyPath: path] != NSDateComponentUndefined {
          coder.encode(components[keyPath: path], forKey: key)
        }
        if components.isLeapMonth { coder.encode(true, forKey: "isLeapMonth") }
        if let zone = components.timeZone { coder.encode(zone as Any?, forKey: "timeZone") }
        if let calendar = components.calendar { coder.encode(calendar as Any?, forKey: "calendar") }
      } decode: { coder in
        let components = NSDateComponents()
        for (key, path) in componentPaths where coder.containsValue(forKey: key) {
          components[keyPath: path] = coder.decodeInteger(forKey: key)
        }
        if coder.decodeBool(forKey: "isLeapMonth") { components.isLeapMonth = true }
        if let zone = coder.decodeObject(of: NSTimeZone.self, forKey: "timeZone") {
          components.timeZone = zone as TimeZone
        }
        if let calendar = coder.decodeObject(of: NSCalendar.self, forKey: "calendar") {
          components.calendar = calendar as Calendar
        }
        return components
      },
      make(ISO8601DateFormatter.self) { formatter, coder in
        coder.encode(Int(formatter.formatOptions.rawValue), forKey: "options")
        if let zone = formatter.timeZone { coder.encode(zone as Any?, forKey: "timeZone") }
      } decode: { coder in
        guard let options = UInt(exactly: coder.decodeInteger(forKey: "options")) else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = ISO8601DateFormatter.Options(rawValue: options)
        if let zone = coder.decodeObject(of: NSTimeZone.self, forKey: "timeZone") {
          formatter.timeZone = zone as TimeZone
        }
        return formatter
      },
    ]

    private static let componentPaths: [(String, any ReferenceWritableKeyPath<NSDateComponents, Int> & Sendable)] = [
      ("era", \.era), ("year", \.year), ("month", \.month), ("day", \.day), ("hour", \.hour), ("minute", \.minute),
      ("second", \.second), ("nanosecond", \.nanosecond), ("weekday", \.weekday),
      ("weekdayOrdinal", \.weekdayOrdinal), ("quarter", \.quarter), ("weekOfYear", \.weekOfYear),
      ("weekOfMonth", \.weekOfMonth), ("yearForWeekOfYear", \.yearForWeekOfYear),
    ]

    /// Names of time zones are looked for as files: nothing that leads elsewhere.
    private static func isZoneName(_ name: String) -> Bool {
      !name.isEmpty && name.utf8.count <= 64 && !name.contains("..") && !name.hasPrefix("/")
        && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static let calendarIdentifiers: Set<NSCalendar.Identifier> = [
      .gregorian, .buddhist, .chinese, .coptic, .ethiopicAmeteMihret, .ethiopicAmeteAlem, .hebrew, .ISO8601, .indian,
      .islamic, .islamicCivil, .japanese, .persian, .republicOfChina, .islamicTabular, .islamicUmmAlQura,
    ]

    private static func decodeCalendar(_ coder: CBORKeyedUnarchiver) -> NSCalendar? {
      guard let name = coder.string(forKey: "identifier"),
        case let identifier = NSCalendar.Identifier(rawValue: name), calendarIdentifiers.contains(identifier),
        let calendar = NSCalendar(calendarIdentifier: identifier)
      else { return nil }
      if let locale = coder.decodeObject(of: NSLocale.self, forKey: "locale") { calendar.locale = locale as Locale }
      guard let zone = coder.decodeObject(of: NSTimeZone.self, forKey: "timeZone") else { return nil }
      calendar.timeZone = zone as TimeZone
      let weekday = coder.decodeInteger(forKey: "firstWeekday")
      let days = coder.decodeInteger(forKey: "minimumDaysInFirstWeek")
      guard (1...7).contains(weekday), (1...7).contains(days) else { return nil }
      calendar.firstWeekday = weekday
      calendar.minimumDaysInFirstWeek = days
      return calendar
    }
  }
#endif
