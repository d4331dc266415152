#if !canImport(Darwin)
  package import Foundation

  /// Creates an object of a Foundation class from the fields of an archive.
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

  /// An unarchiver, as the source of a Foundation object's fields.
  ///
  /// A missing field is `nil`, 0 or false. A field of another kind is the same, and an error of the unarchiver.
  package protocol FoundationFields: NSCoder {
    /// A text as a Swift string, so that no instance is made twice.
    func string(forKey key: String) -> String?

    /// A dictionary that may hold the currently allowed classes and some additional ones.
    func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary?
  }

  extension FoundationClass {
    static let texts: [FoundationClass] = [
      FoundationClass(NSURLQueryItem.self) { fields in
        fields.string(forKey: "name").map {
          NSURLQueryItem(name: $0, value: fields.string(forKey: "value"))
        }
      },
      FoundationClass(NSPersonNameComponents.self) { fields in
        let name = NSPersonNameComponents()
        name.namePrefix = fields.string(forKey: "namePrefix")
        name.givenName = fields.string(forKey: "givenName")
        name.middleName = fields.string(forKey: "middleName")
        name.familyName = fields.string(forKey: "familyName")
        name.nameSuffix = fields.string(forKey: "nameSuffix")
        name.nickname = fields.string(forKey: "nickname")
        if let phonetic = fields.decodeObject(of: NSPersonNameComponents.self, forKey: "phonetic") {
          name.phoneticRepresentation = phonetic as PersonNameComponents
        }
        return name
      },
      FoundationClass(NSRegularExpression.self) { fields in
        guard let pattern = fields.string(forKey: "pattern"),
          let options = UInt(exactly: fields.decodeInteger(forKey: "options"))
        else { return nil }
        // The archive's reader reports an invalid pattern, like every invalid object.
        return try? NSRegularExpression(pattern: pattern, options: NSRegularExpression.Options(rawValue: options))
      },
    ]
  }

  extension FoundationClass {
    static let times: [FoundationClass] = [
      FoundationClass(NSLocale.self) { fields in
        fields.string(forKey: "identifier").flatMap {
          $0.utf8.count <= 256 ? NSLocale(localeIdentifier: $0) : nil
        }
      },
      FoundationClass(NSTimeZone.self) { fields in
        fields.string(forKey: "name").flatMap { isZoneName($0) ? NSTimeZone(name: $0) : nil }
      },
      FoundationClass(NSCalendar.self) { fields in calendar(fields) },
      FoundationClass(NSDateComponents.self) { fields in
        let components = NSDateComponents()
        for (key, path) in DateComponentField.all where fields.containsValue(forKey: key) {
          let value = fields.decodeInteger(forKey: key)
          if value != NSDateComponentUndefined { components[keyPath: path] = value }
        }
        if fields.decodeBool(forKey: "isLeapMonth") {
          components.isLeapMonth = true
        }
        if let zone = fields.decodeObject(of: NSTimeZone.self, forKey: "timeZone") {
          components.timeZone = zone as TimeZone
        }
        if let calendar = fields.decodeObject(of: NSCalendar.self, forKey: "calendar") {
          components.calendar = calendar as Calendar
        }
        return components
      },
      FoundationClass(ISO8601DateFormatter.self) { fields in
        guard fields.containsValue(forKey: "options"),
          let options = UInt(exactly: fields.decodeInteger(forKey: "options"))
        else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = ISO8601DateFormatter.Options(rawValue: options)
        if let zone = fields.decodeObject(of: NSTimeZone.self, forKey: "timeZone") {
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
      guard let name = fields.string(forKey: "identifier"),
        case let identifier = NSCalendar.Identifier(rawValue: name), calendarIdentifiers.contains(identifier),
        let calendar = NSCalendar(calendarIdentifier: identifier)
      else { return nil }
      if let locale = fields.decodeObject(of: NSLocale.self, forKey: "locale") {
        calendar.locale = locale as Locale
      }
      if let zone = fields.decodeObject(of: NSTimeZone.self, forKey: "timeZone") {
        calendar.timeZone = zone as TimeZone
      }
      if fields.containsValue(forKey: "firstWeekday") {
        guard case let day = fields.decodeInteger(forKey: "firstWeekday"), (1...7).contains(day) else { return nil }
        calendar.firstWeekday = day
      }
      if fields.containsValue(forKey: "minimumDaysInFirstWeek") {
        guard case let days = fields.decodeInteger(forKey: "minimumDaysInFirstWeek"), (1...7).contains(days) else {
          return nil
        }
        calendar.minimumDaysInFirstWeek = days
      }
      return calendar
    }
  }

  package enum DateComponentField {
    package typealias Path = any ReferenceWritableKeyPath<NSDateComponents, Int> & Sendable

    package static let all: [(key: String, path: Path)] = [
      ("era", \.era), ("year", \.year),
      ("month", \.month), ("day", \.day),
      ("hour", \.hour), ("minute", \.minute),
      ("second", \.second), ("nanosecond", \.nanosecond),
      ("weekday", \.weekday),
      ("weekdayOrdinal", \.weekdayOrdinal),
      ("quarter", \.quarter), ("weekOfYear", \.weekOfYear),
      ("weekOfMonth", \.weekOfMonth),
      ("yearForWeekOfYear", \.yearForWeekOfYear),
    ]
  }

  extension FoundationClass {
    static let measures: [FoundationClass] =
      [
        FoundationClass(NSMeasurement.self) { fields in
          let value = fields.decodeDouble(forKey: "value")
          return fields.decodeObject(of: Unit.self, forKey: "unit").map {
            NSMeasurement(doubleValue: value, unit: $0)
          }
        },
        FoundationClass(Unit.self) { fields in fields.string(forKey: "symbol").map { Unit(symbol: $0) }
        },
        FoundationClass(UnitConverterLinear.self) { fields in
          guard fields.containsValue(forKey: "coefficient") else { return nil }
          return UnitConverterLinear(
            coefficient: fields.decodeDouble(forKey: "coefficient"), constant: fields.decodeDouble(forKey: "constant"))
        },
      ] + DimensionClass.all.map { dimension($0) }

    private static func dimension(_ dimension: DimensionClass) -> FoundationClass {
      FoundationClass(dimension.type) { fields in
        guard let symbol = fields.string(forKey: "symbol") else { return nil }
        guard fields.containsValue(forKey: "converter") else { return dimension.known.first { $0.symbol == symbol } }
        return fields.decodeObject(of: UnitConverterLinear.self, forKey: "converter").map {
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
        guard let domain = fields.string(forKey: "domain") else { return nil }
        let code = fields.decodeInteger(forKey: "code")
        guard fields.containsValue(forKey: "userInfo") else { return NSError(domain: domain, code: code) }
        guard let contents = fields.dictionary(allowing: [NSError.self], forKey: "userInfo") else { return nil }
        return contents.valuesByName().map { NSError(domain: domain, code: code, userInfo: $0) }
      },
      FoundationClass(NSNotification.self) { fields in
        guard let name = fields.string(forKey: "name") else { return nil }
        let object = fields.decodeObject(forKey: "object")
        guard let contents = fields.dictionary(allowing: [], forKey: "userInfo") else {
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
