#if !canImport(Darwin)
  package import Foundation

  /// Creates an object of a Foundation class from fields that both kinds of archives share.
  ///
  /// The classes' own `init(coder:)` on Linux trusts its input, and forged bytes can end the process. Here the fields
  /// are checked first.
  package struct FoundationClass: Sendable {
    package let type: AnyClass
    package let make: @Sendable (any FoundationFields) -> NSObject?

    package static let all: [FoundationClass] = texts + times + measures + notifications

    private static let byType = Dictionary(uniqueKeysWithValues: all.map { (ObjectIdentifier($0.type), $0) })

    package static func of(_ type: AnyClass) -> FoundationClass? { byType[ObjectIdentifier(type)] }

    init(_ type: AnyClass, _ make: @escaping @Sendable (any FoundationFields) -> NSObject?) {
      self.type = type
      self.make = make
    }
  }

  /// An unarchiver of either kind, as the source of a Foundation object's fields.
  ///
  /// A missing field is `nil`, 0 or false. A field of another kind is the same, and an error of the unarchiver.
  package protocol FoundationFields: NSCoder {
    func spelling(of key: FieldKey) -> String

    /// A text as a Swift string, so that no instance is made twice.
    func string(forKey key: String) -> String?

    /// A dictionary that may hold the currently allowed classes and some additional ones.
    func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary?
  }

  extension FoundationFields {
    package func contains(_ key: FieldKey) -> Bool { containsValue(forKey: spelling(of: key)) }
    package func integer(_ key: FieldKey) -> Int { decodeInteger(forKey: spelling(of: key)) }
    package func number(_ key: FieldKey) -> Double { decodeDouble(forKey: spelling(of: key)) }
    package func string(_ key: FieldKey) -> String? { string(forKey: spelling(of: key)) }

    package func object<Object: NSObject & NSCoding>(_ type: Object.Type, _ key: FieldKey) -> Object? {
      decodeObject(of: type, forKey: spelling(of: key))
    }

    package func dictionary(_ key: FieldKey, allowing others: [AnyClass] = []) -> NSDictionary? {
      dictionary(allowing: others, forKey: spelling(of: key))
    }
  }

  /// A field's key in Foundation objects, spelled differently in the two kinds of archives.
  package struct FieldKey: Hashable, Sendable {
    /// In this package's CBOR.
    package let own: String
    /// In `NSKeyedArchiver`'s archives.
    package let foundation: String

    package init(_ own: String, _ foundation: String) {
      self.own = own
      self.foundation = foundation
    }
  }

  extension FoundationClass {
    static let texts: [FoundationClass] = [
      FoundationClass(NSURLQueryItem.self) { fields in
        fields.string(FieldKey("name", "NS.name")).map {
          NSURLQueryItem(name: $0, value: fields.string(FieldKey("value", "NS.value")))
        }
      },
      FoundationClass(NSPersonNameComponents.self) { fields in
        let name = NSPersonNameComponents()
        name.namePrefix = fields.string(FieldKey("namePrefix", "NS.namePrefix"))
        name.givenName = fields.string(FieldKey("givenName", "NS.givenName"))
        name.middleName = fields.string(FieldKey("middleName", "NS.middleName"))
        name.familyName = fields.string(FieldKey("familyName", "NS.familyName"))
        name.nameSuffix = fields.string(FieldKey("nameSuffix", "NS.nameSuffix"))
        name.nickname = fields.string(FieldKey("nickname", "NS.nickname"))
        let phonetic = FieldKey("phonetic", "NS.phoneticRepresentation")
        if let phonetic = fields.object(NSPersonNameComponents.self, phonetic) {
          name.phoneticRepresentation = phonetic as PersonNameComponents
        }
        return name
      },
      FoundationClass(NSRegularExpression.self) { fields in
        guard let pattern = fields.string(FieldKey("pattern", "NSPattern")),
          let options = UInt(exactly: fields.integer(FieldKey("options", "NSOptions")))
        else { return nil }
        // The archive's reader reports an invalid pattern, like every invalid object.
        return try? NSRegularExpression(pattern: pattern, options: NSRegularExpression.Options(rawValue: options))
      },
    ]
  }

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

  extension FoundationClass {
    static let measures: [FoundationClass] =
      [
        FoundationClass(NSMeasurement.self) { fields in
          let value = fields.number(FieldKey("value", "NS.value"))
          return fields.object(Unit.self, FieldKey("unit", "NS.unit")).map {
            NSMeasurement(doubleValue: value, unit: $0)
          }
        },
        FoundationClass(Unit.self) { fields in fields.string(FieldKey("symbol", "NS.symbol")).map { Unit(symbol: $0) }
        },
        FoundationClass(UnitConverterLinear.self) { fields in
          let coefficient = FieldKey("coefficient", "NS.coefficient")
          guard fields.contains(coefficient) else { return nil }
          return UnitConverterLinear(
            coefficient: fields.number(coefficient), constant: fields.number(FieldKey("constant", "NS.constant")))
        },
      ] + DimensionClass.all.map { dimension($0) }

    private static func dimension(_ dimension: DimensionClass) -> FoundationClass {
      FoundationClass(dimension.type) { fields in
        guard let symbol = fields.string(FieldKey("symbol", "NS.symbol")) else { return nil }
        let converter = FieldKey("converter", "NS.converter")
        guard fields.contains(converter) else { return dimension.known.first { $0.symbol == symbol } }
        return fields.object(UnitConverterLinear.self, converter).map {
          dimension.type.init(symbol: symbol, converter: $0)
        }
      }
    }
  }

  // Unchecked: the units are Foundation's constants and never change.
  package struct DimensionClass: @unchecked Sendable {
    package let type: Dimension.Type
    /// Units with a private converter, identified by their symbol.
    package let known: [Dimension]

    private init(_ type: Dimension.Type, known: [Dimension] = []) {
      self.type = type
      self.known = known
    }

    package static let all: [DimensionClass] =
      plain.map { DimensionClass($0) } + [
        DimensionClass(
          UnitFuelEfficiency.self,
          known: [
            UnitFuelEfficiency.litersPer100Kilometers, UnitFuelEfficiency.milesPerGallon,
            UnitFuelEfficiency.milesPerImperialGallon,
          ])
      ]

    private static let plain: [Dimension.Type] = [
      Dimension.self, UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self,
      UnitDispersion.self, UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self,
      UnitElectricPotentialDifference.self, UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self,
      UnitIlluminance.self, UnitInformationStorage.self, UnitLength.self, UnitMass.self, UnitPower.self,
      UnitPressure.self, UnitSpeed.self, UnitTemperature.self, UnitVolume.self,
    ]
  }

  extension FoundationClass {
    static let notifications: [FoundationClass] = [
      FoundationClass(NSError.self) { fields in
        guard let domain = fields.string(FieldKey("domain", "NSDomain")) else { return nil }
        let code = fields.integer(FieldKey("code", "NSCode"))
        let key = FieldKey("userInfo", "NSUserInfo")
        guard fields.contains(key) else { return NSError(domain: domain, code: code) }
        guard let contents = fields.dictionary(key, allowing: [NSError.self]) else { return nil }
        return contents.valuesByName().map { NSError(domain: domain, code: code, userInfo: $0) }
      },
      FoundationClass(NSNotification.self) { fields in
        guard let name = fields.string(FieldKey("name", "NS.name")) else { return nil }
        let object = fields.decodeObject(forKey: fields.spelling(of: FieldKey("object", "NS.object")))
        guard let contents = fields.dictionary(FieldKey("userInfo", "NS.userinfo")) else {
          return NSNotification(name: NSNotification.Name(name), object: object, userInfo: nil)
        }
        var userInfo: [AnyHashable: Any] = [:]
        for key in contents.allKeys {
          // Casting the dictionary ends the process if a key is a collection.
          guard let key = key as? NSObject, !(key is NSArray), !(key is NSDictionary) else { return nil }
          userInfo[(key as? NSString).map { AnyHashable($0 as String) } ?? AnyHashable(key)] = contents.object(
            forKey: key)
        }
        return NSNotification(name: NSNotification.Name(name), object: object, userInfo: userInfo)
      },
    ]
  }
#endif
