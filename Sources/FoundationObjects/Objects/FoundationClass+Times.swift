#if !canImport(Darwin)
  import Foundation

  extension FoundationClass {
    static let times: [FoundationClass] = [
      FoundationClass(NSLocale.self) { fields in
        fields.string(FieldKey("identifier", "NS.identifier")).flatMap {
          $0.utf8.count <= 256 ? NSLocale(localeIdentifier: $0) : nil
        }
      },
      FoundationClass(NSTimeZone.self) { fields in
        fields.string(FieldKey("name", "NS.name")).flatMap { isZoneName($0) ? NSTimeZone(name: $0) : nil }
      },
      FoundationClass(NSCalendar.self) { fields in calendar(fields) },
      FoundationClass(NSDateComponents.self) { fields in
        let components = NSDateComponents()
        for (key, path) in DateComponentField.all where fields.contains(key) {
          let value = fields.integer(key)
          if value != NSDateComponentUndefined { components[keyPath: path] = value }
        }
        if fields.decodeBool(forKey: fields.spelling(of: FieldKey("isLeapMonth", "NS.isLeapMonth"))) {
          components.isLeapMonth = true
        }
        if let zone = fields.object(NSTimeZone.self, FieldKey("timeZone", "NS.timezone")) {
          components.timeZone = zone as TimeZone
        }
        if let calendar = fields.object(NSCalendar.self, FieldKey("calendar", "NS.calendar")) {
          components.calendar = calendar as Calendar
        }
        return components
      },
      FoundationClass(ISO8601DateFormatter.self) { fields in
        let key = FieldKey("options", "NS.formatOptions")
        guard fields.contains(key), let options = UInt(exactly: fields.integer(key)) else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = ISO8601DateFormatter.Options(rawValue: options)
        if let zone = fields.object(NSTimeZone.self, FieldKey("timeZone", "NS.timeZone")) {
          formatter.timeZone = zone as TimeZone
        }
        return formatter
      },
    ]

    /// Time zones are looked up as files, so reject names that lead elsewhere.
    private static func isZoneName(_ name: String) -> Bool {
      !name.isEmpty && name.utf8.count <= 64 && !name.contains("..") && !name.hasPrefix("/")
        && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static let calendarIdentifiers: Set<NSCalendar.Identifier> = [
      .gregorian, .buddhist, .chinese, .coptic, .ethiopicAmeteMihret, .ethiopicAmeteAlem, .hebrew, .ISO8601, .indian,
      .islamic, .islamicCivil, .japanese, .persian, .republicOfChina, .islamicTabular, .islamicUmmAlQura,
    ]

    private static func calendar(_ fields: any FoundationFields) -> NSCalendar? {
      guard let name = fields.string(FieldKey("identifier", "NS.identifier")),
        case let identifier = NSCalendar.Identifier(rawValue: name), calendarIdentifiers.contains(identifier),
        let calendar = NSCalendar(calendarIdentifier: identifier)
      else { return nil }
      if let locale = fields.object(NSLocale.self, FieldKey("locale", "NS.locale")) {
        calendar.locale = locale as Locale
      }
      if let zone = fields.object(NSTimeZone.self, FieldKey("timeZone", "NS.timezone")) {
        calendar.timeZone = zone as TimeZone
      }
      let weekday = FieldKey("firstWeekday", "NS.firstwkdy")
      if fields.contains(weekday) {
        guard case let day = fields.integer(weekday), (1...7).contains(day) else { return nil }
        calendar.firstWeekday = day
      }
      let minimum = FieldKey("minimumDaysInFirstWeek", "NS.mindays")
      if fields.contains(minimum) {
        guard case let days = fields.integer(minimum), (1...7).contains(days) else { return nil }
        calendar.minimumDaysInFirstWeek = days
      }
      return calendar
    }
  }
#endif
