#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationCoding {
    static let times: [FoundationCoding] = [
      make(NSDateInterval.self) { interval, coder in
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
      },
      make(NSTimeZone.self) { zone, coder in
        coder.encode(zone.name as String?, forKey: "name")
      },
      make(NSCalendar.self) { calendar, coder in
        coder.encode(calendar.calendarIdentifier.rawValue as String?, forKey: "identifier")
        if let locale = calendar.locale { coder.encode(locale as Any?, forKey: "locale") }
        coder.encode(calendar.timeZone as Any?, forKey: "timeZone")
        coder.encode(calendar.firstWeekday, forKey: "firstWeekday")
        coder.encode(calendar.minimumDaysInFirstWeek, forKey: "minimumDaysInFirstWeek")
      },
      make(NSDateComponents.self) { components, coder in
        for (key, path) in DateComponentField.all where components[keyPath: path] != NSDateComponentUndefined {
          coder.encode(components[keyPath: path], forKey: key.own)
        }
        if components.isLeapMonth { coder.encode(true, forKey: "isLeapMonth") }
        if let zone = components.timeZone { coder.encode(zone as Any?, forKey: "timeZone") }
        if let calendar = components.calendar { coder.encode(calendar as Any?, forKey: "calendar") }
      },
      make(ISO8601DateFormatter.self) { formatter, coder in
        coder.encode(Int(formatter.formatOptions.rawValue), forKey: "options")
        if let zone = formatter.timeZone { coder.encode(zone as Any?, forKey: "timeZone") }
      },
    ]
  }
#endif
