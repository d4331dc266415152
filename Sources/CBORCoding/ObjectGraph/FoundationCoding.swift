#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// Archives objects of one Foundation class instead of the class's own methods.
  ///
  /// Foundation's methods on Linux trust their input: with another coder or forged bytes many end the process.
  struct FoundationCoding: Sendable {
    let type: AnyClass
    let encode: @Sendable (AnyObject, CBORKeyedArchiver) -> Void
    let decode: @Sendable (CBORKeyedUnarchiver) -> NSObject?

    static let all: [FoundationCoding] = values + texts + times + measures + notifications

    static func make<Object: NSObject>(
      _ type: Object.Type, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void,
      decode: @escaping @Sendable (CBORKeyedUnarchiver) -> NSObject?
    ) -> FoundationCoding {
      FoundationCoding(
        type: type, encode: { object, coder in encode(object as! Object, coder) },
        decode: decode)
    }

    /// For a class whose objects are made the same way from all kinds of archives.
    static func make<Object: NSObject>(
      _ type: Object.Type, encode: @escaping @Sendable (Object, CBORKeyedArchiver) -> Void
    ) -> FoundationCoding {
      guard let shared = FoundationClass.of(type) else { preconditionFailure("\(type) is not in FoundationClass.all.") }
      return make(type, encode: encode, decode: { shared.make($0) })
    }

    /// Whether the key at an offset has Foundation's prefix, "NS." or "NS".
    static func isFoundationsKey(_ bytes: CBORBytes, at offset: Int) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      guard let text = try? reader.readDefinite(.text), text.count >= 3 else { return false }
      return text[0] == UInt8(ascii: "N") && text[1] == UInt8(ascii: "S") && text[2] == UInt8(ascii: ".")
    }
  }

  extension CBORKeyedUnarchiver {
    /// Foundation classes that are always decoded safely.
    package static let foundationClasses: [AnyClass] = ValueClasses.basic + FoundationCoding.all.map(\.type)
  }

  extension CBORKeyedArchiver {
    func encode(_ integers: [Int], forKey key: String) {
      guard beginField(key) else { return }
      writer.writeArrayHead(count: integers.count)
      for integer in integers { writer.writeInteger(integer) }
    }

    func encode(_ string: String?, forKey key: String) {
      guard let string, beginField(key) else { return }
      writer.writeText(string)
    }
  }

  extension FoundationCoding {
    static let values: [FoundationCoding] = [
      make(NSValue.self) { value, coder in
        encode(value, coder)
      } decode: { coder in
        decodeValue(coder)
      },
      make(NSIndexSet.self) { set, coder in
        encode(set, coder)
      } decode: { coder in
        decodeIndexes(coder).map { NSIndexSet(indexSet: $0) }
      },
      make(NSMutableIndexSet.self) { set, coder in
        encode(set, coder)
      } decode: { coder in
        decodeIndexes(coder).map { NSMutableIndexSet(indexSet: $0) }
      },
      make(NSIndexPath.self) { path, coder in
        coder.encode((0..<path.length).map { path.index(atPosition: $0) }, forKey: "indexes")
      } decode: { coder in
        coder.integers(forKey: "indexes").map { unsafe NSIndexPath(indexes: $0, length: $0.count) }
      },
      make(NSAffineTransform.self) { transform, coder in
        let matrix = transform.transformStruct
        let numbers = [matrix.m11, matrix.m12, matrix.m21, matrix.m22, matrix.tX, matrix.tY]
        for (key, number) in zip(transformKeys, numbers) { coder.encode(Double(number), forKey: key) }
      } decode: { coder in
        let numbers = transformKeys.map { CGFloat(coder.decodeDouble(forKey: $0)) }
        let transform = NSAffineTransform()
        transform.transformStruct = NSAffineTransformStruct(
          m11: numbers[0], m12: numbers[1], m21: numbers[2], m22: numbers[3], tX: numbers[4], tY: numbers[5])
        return transform
      },
    ]

    private static let transformKeys = ["m11", "m12", "m21", "m22", "tX", "tY"]

    // MARK: Values

    /// Structures of equal numbers that Foundation supports. Other types are limited to numbers and arrays of them,
    /// because Foundation cannot be trusted with their descriptions.
    private static let structures: [(name: String, type: ObjCType)] = [
      (NSValue(range: NSRange()), ObjCType(.int64, count: 2)), (NSValue(point: NSPoint()), ObjCType(.double, count: 2)),
      (NSValue(size: NSSize()), ObjCType(.double, count: 2)), (NSValue(rect: NSRect()), ObjCType(.double, count: 4)),
      (NSValue(edgeInsets: NSEdgeInsets()), ObjCType(.double, count: 4)),
    ].map { unsafe (String(cString: $0.objCType), $1) }

    private static func type(_ name: String) -> ObjCType? {
      structures.first { $0.name == name }?.type ?? ObjCType(name)
    }

    private static func encode(_ value: NSValue, _ coder: CBORKeyedArchiver) {
      let name = unsafe String(cString: value.objCType)
      guard let type = type(name) else {
        return coder.fail("A value of the Objective-C type \(name) cannot be archived.")
      }
      coder.encode(name as String?, forKey: "type")
      guard coder.beginField("value") else { return }
      unsafe withUnsafeTemporaryAllocation(byteCount: max(type.size, 1), alignment: type.stride) { buffer in
        unsafe value.getValue(buffer.baseAddress!)
        unsafe coder.write(type, at: buffer.baseAddress!)
      }
    }

    private static func decodeValue(_ coder: CBORKeyedUnarchiver) -> NSObject? {
      // The archive decides the buffer's size, so require a value at least as long.
      guard let name = coder.string(forKey: "type"), let type = type(name), let value = coder.locate("value"),
        type.count ?? 1 <= coder.bytes.count
      else { return nil }
      return unsafe withUnsafeTemporaryAllocation(byteCount: max(type.size, 1), alignment: type.stride) { buffer in
        guard unsafe coder.read(type, at: value, to: buffer.baseAddress!) else { return nil }
        func load<T>(_ type: T.Type = T.self) -> T { unsafe buffer.load(as: type) }
        switch name {
        case structures[0].name: return NSValue(range: load())
        case structures[1].name: return NSValue(point: load())
        case structures[2].name: return NSValue(size: load())
        case structures[3].name: return NSValue(rect: load())
        case structures[4].name: return NSValue(edgeInsets: load())
        default: return unsafe NSValue(bytes: buffer.baseAddress!, objCType: name)
        }
      }
    }

    // MARK: Index sets

    /// Writes each range's start and length, in ascending order.
    private static func encode(_ set: NSIndexSet, _ coder: CBORKeyedArchiver) {
      var numbers: [Int] = []
      unsafe set.enumerateRanges { range, _ in numbers += [range.location, range.length] }
      coder.encode(numbers, forKey: "ranges")
    }

    private static func decodeIndexes(_ coder: CBORKeyedUnarchiver) -> IndexSet? {
      coder.integers(forKey: "ranges").flatMap { IndexSet(checking: $0) }
    }
  }

  extension CBORKeyedUnarchiver {
    /// Reads the value at an offset into memory. Returns `false` for another type.
    fileprivate func read(_ type: ObjCType, at offset: Int, to address: UnsafeMutableRawPointer) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      do {
        try unsafe read(type, &reader, to: address)
        return true
      } catch {
        failWithError(error)
        return false
      }
    }
  }

  extension FoundationCoding {
    static let texts: [FoundationCoding] = [
      make(NSAttributedString.self) { string, coder in
        encode(string, coder)
      } decode: { coder in
        decodeAttributed(coder).map { NSAttributedString(attributedString: $0) }
      },
      make(NSMutableAttributedString.self) { string, coder in
        encode(string, coder)
      } decode: { coder in
        decodeAttributed(coder)
      },
      make(NSCharacterSet.self) { set, coder in
        coder.encode(set.bitmapRepresentation as Any?, forKey: "bitmap")
      } decode: { coder in
        coder.decodeObject(of: NSData.self, forKey: "bitmap").flatMap { bitmap in
          unsafe NSCharacterSet.checked(bitmap: Data(bytes: bitmap.bytes, count: bitmap.length))
        }
      },
      make(NSRegularExpression.self) { expression, coder in
        coder.encode(expression.pattern as String?, forKey: "pattern")
        coder.encode(Int(expression.options.rawValue), forKey: "options")
      },
      make(NSURLQueryItem.self) { item, coder in
        coder.encode(item.name as String?, forKey: "name")
        coder.encode(item.value, forKey: "value")
      },
      make(NSPersonNameComponents.self) { name, coder in
        coder.encode(name.namePrefix, forKey: "namePrefix")
        coder.encode(name.givenName, forKey: "givenName")
        coder.encode(name.middleName, forKey: "middleName")
        coder.encode(name.familyName, forKey: "familyName")
        coder.encode(name.nameSuffix, forKey: "nameSuffix")
        coder.encode(name.nickname, forKey: "nickname")
        if let phonetic = name.phoneticRepresentation { coder.encode(phonetic as Any?, forKey: "phonetic") }
      },
    ]

    /// Writes the string, the lengths of the runs in UTF-16 units, and each run's attributes.
    private static func encode(_ string: NSAttributedString, _ coder: CBORKeyedArchiver) {
      coder.encode(string.string as String?, forKey: "string")
      var lengths: [Int] = []
      var attributes: [NSDictionary] = []
      var location = 0
      while location < string.length {
        var range = NSRange()
        let found = unsafe string.attributes(at: location, effectiveRange: &range)
        attributes.append(NSDictionary(dictionary: Dictionary(uniqueKeysWithValues: found.map { ($0.rawValue, $1) })))
        lengths.append(range.location + range.length - location)
        location = range.location + range.length
      }
      guard lengths.count > 1 || attributes.first?.count ?? 0 > 0 else { return }
      coder.encode(lengths, forKey: "lengths")
      coder.encode(NSArray(array: attributes) as Any?, forKey: "attributes")
    }

    private static func decodeAttributed(_ coder: CBORKeyedUnarchiver) -> NSMutableAttributedString? {
      guard let text = coder.string(forKey: "string") else { return nil }
      let string = NSMutableAttributedString(string: text)
      guard let lengths = coder.integers(forKey: "lengths") else { return string }
      guard let attributes = coder.contents(NSArray.self, [NSDictionary.self], forKey: "attributes"),
        case let runs = FoundationElements.elements(of: attributes), runs.count == lengths.count
      else { return nil }
      var location = 0
      for (index, length) in lengths.enumerated() {
        guard length > 0, length <= string.length - location,
          let values = (runs[index] as? NSDictionary)?.attributes()
        else { return nil }
        string.setAttributes(values, range: NSRange(location: location, length: length))
        location += length
      }
      return location == string.length ? string : nil
    }
  }

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
          coder.encode(components[keyPath: path], forKey: key)
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

  extension FoundationCoding {
    static let measures: [FoundationCoding] =
      [
        make(NSMeasurement.self) { measurement, coder in
          coder.encode(measurement.doubleValue, forKey: "value")
          coder.encode(measurement.unit as Any?, forKey: "unit")
        },
        make(Unit.self) { unit, coder in
          coder.encode(unit.symbol as String?, forKey: "symbol")
        },
        make(UnitConverterLinear.self) { converter, coder in
          coder.encode(converter.coefficient, forKey: "coefficient")
          coder.encode(converter.constant, forKey: "constant")
        },
      ] + DimensionClass.all.map { dimension($0) }

    private static func dimension(_ dimension: DimensionClass) -> FoundationCoding {
      make(dimension.type) { unit, coder in
        coder.encode(unit.symbol as String?, forKey: "symbol")
        guard !dimension.known.contains(where: { $0.symbol == unit.symbol && $0 == unit }) else { return }
        coder.encode(unit.converter as Any?, forKey: "converter")
      }
    }
  }

  extension FoundationCoding {
    static let notifications: [FoundationCoding] = [
      make(NSError.self) { error, coder in
        coder.encode(error.domain as String?, forKey: "domain")
        coder.encode(error.code, forKey: "code")
        if !error.userInfo.isEmpty { coder.encode(error.userInfo as Any?, forKey: "userInfo") }
      },
      make(NSNotification.self) { notification, coder in
        coder.encode(notification.name.rawValue as String?, forKey: "name")
        if let object = notification.object { coder.encode(object as Any?, forKey: "object") }
        if let userInfo = notification.userInfo { coder.encode(userInfo as Any?, forKey: "userInfo") }
      },
    ]
  }
#endif
