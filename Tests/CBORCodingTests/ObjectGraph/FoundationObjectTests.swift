import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Foundation's classes, and their Swift value types.
@Suite struct FoundationObjectTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    nonisolated(unsafe) let object: NSObject
    let isComparable: Bool
    var testDescription: String { "\(type(of: object)) \("\(object)".prefix(20))" }
  }

  private static func comparable() -> [NSObject] {
    let dates: [Double] = [
      0, 0.1, -0.1, 700_000_001.5, -1e15, -9_007_200_233_048_194, 1e300, 978_307_200.000_000_1, .infinity,
    ]
    let texts = ["", "a", "é 🙂 \u{0}", String(repeating: "long ", count: 100)]
    let links = ["http://example.org/a?b=c#d", "a/b", "file:///tmp/%C3%A4", "mailto:a@b"]
    let strings: [NSObject] = texts.map { NSString(string: $0) }
    let urls: [NSObject] = links.map { NSURL(string: $0)! }
    let data: [NSObject] = [0, 1, 2, 255, 256].map { NSData(data: Data(repeating: 7, count: $0)) }
    let times: [NSObject] = dates.map { NSDate(timeIntervalSinceReferenceDate: $0) }
    let numbers: [NSNumber] = [
      true, false, 0, NSNumber(value: Int8.min), NSNumber(value: UInt8.max), NSNumber(value: Int16.min),
      NSNumber(value: UInt16.max), NSNumber(value: Int32.min), NSNumber(value: UInt32.max), NSNumber(value: Int64.min),
      NSNumber(value: Int64.max), NSNumber(value: UInt64.max), NSNumber(value: Float(0.1)), 0.1, 3.0,
      NSNumber(value: Double.infinity), NSNumber(value: Double.leastNonzeroMagnitude),
    ]
    let others: [NSObject] = [
      NSURL(string: "x/../y?z", relativeTo: URL(string: "http://h/b/"))!, NSUUID(), NSNull(), NSArray(),
      NSArray(array: [1, "two", 3.5, NSNull(), [Data([4])]]), NSDictionary(),
      NSDictionary(dictionary: ["a": 1, "b": ["c": [2, "d"]]]),
      NSDictionary(dictionary: [1: "int", Date(timeIntervalSinceReferenceDate: 2): "date", "s": "string"]), NSSet(),
      NSSet(array: ["a", 2, Data([3])]), NSMutableArray(array: [1, 2]), NSMutableSet(array: ["x", "y"]),
      NSCountedSet(array: [1, 1, 1, 2]), NSOrderedSet(array: [3, 1, 2]), NSMutableOrderedSet(array: ["b", "a"]),
      NSValue(range: NSRange(location: 3, length: 4)), NSValue(point: NSPoint(x: 1, y: -2.5)),
      NSValue(size: NSSize(width: 1, height: 2)), NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4)),
      NSValue(edgeInsets: NSEdgeInsets(top: 1, left: 2, bottom: 3, right: 4)),
      NSValue(bytes: [Int32(7)], objCType: "i"), NSValue(bytes: [2.5], objCType: "d"), NSIndexSet(),
      NSIndexSet(indexesIn: NSRange(location: 3, length: 9)),
      NSMutableIndexSet(indexesIn: NSRange(location: 100, length: 1000)), NSIndexPath(indexes: [1, 2, 3], length: 3),
      NSIndexPath(), NSAffineTransform(transform: AffineTransform(m11: 1, m12: 2, m21: 3, m22: 4, tX: 5, tY: 6)),
      NSAttributedString(string: "plain"), NSAttributedString(string: ""), attributed,
      NSAttributedString(attributedString: attributed), NSCharacterSet(charactersIn: "abcé🙂"),
      CharacterSet.alphanumerics.inverted as NSCharacterSet,
      try! NSRegularExpression(pattern: "(a+)|b", options: [.caseInsensitive, .anchorsMatchLines]),
      NSURLQueryItem(name: "a", value: "b"), NSURLQueryItem(name: "a", value: nil),
      NSLocale(localeIdentifier: "de_DE"), NSTimeZone(name: "Europe/Paris")!, NSTimeZone(forSecondsFromGMT: 3600),
      NSCalendar(calendarIdentifier: .hebrew)!, calendar, dateComponents, NSDateComponents(),
      NSMeasurement(doubleValue: 5, unit: UnitLength.kilometers), Unit(symbol: "u"), UnitTemperature.fahrenheit,
      UnitConverterLinear(coefficient: 2, constant: 3), UnitInformationStorage.gibibytes,
      UnitFuelEfficiency.litersPer100Kilometers,
    ]
    let all: [[NSObject]] = [strings, urls, data, times, numbers, others]
    return all.flatMap { $0 }
  }

  /// Foundation's archiver on Linux loses these, makes them immutable, or crashes.
  private static func incomparable() -> [NSObject] {
    [
      NSData(data: Data(repeating: 7, count: 100_000)),
      NSMutableString(string: "mutable"), NSMutableData(data: Data([1, 2, 3])),
      NSMutableDictionary(dictionary: ["a": 1]), NSValue(bytes: [Int16(7), 8], objCType: "[2s]"), personName,
      UnitFuelEfficiency.milesPerGallon, NSDecimalNumber(string: "1.5"),
      NSDecimalNumber(string: "-123456789012345678901234567890.12345678"),
      NSDecimalNumber(decimal: .greatestFiniteMagnitude), NSDecimalNumber(decimal: -Decimal.greatestFiniteMagnitude),
      NSDecimalNumber(decimal: .leastNonzeroMagnitude), NSDecimalNumber.zero,
    ]
  }

  static let samples =
    comparable().map { Sample(object: $0, isComparable: true) }
    + incomparable().map { Sample(object: $0, isComparable: false) }

  private static func changed<T>(_ object: T, _ change: (T) -> Void) -> T {
    change(object)
    return object
  }

  private static var attributed: NSMutableAttributedString {
    changed(NSMutableAttributedString(string: "hello é🙂 world")) {
      $0.addAttribute(.init("k"), value: NSNumber(value: 5), range: NSRange(location: 2, length: 4))
      $0.addAttribute(.init("l"), value: NSString(string: "v"), range: NSRange(location: 4, length: 6))
    }
  }

  private static var personName: NSPersonNameComponents {
    var phonetic = PersonNameComponents()
    phonetic.givenName = "Eida"
    return changed(NSPersonNameComponents()) {
      $0.givenName = "Ada"
      $0.phoneticRepresentation = phonetic
    }
  }

  private static var calendar: NSCalendar {
    changed(NSCalendar(calendarIdentifier: .gregorian)!) {
      $0.locale = Locale(identifier: "fr_FR")
      $0.timeZone = TimeZone(identifier: "Asia/Tokyo")!
      ($0.firstWeekday, $0.minimumDaysInFirstWeek) = (3, 4)
    }
  }

  private static var dateComponents: NSDateComponents {
    changed(NSDateComponents()) {
      ($0.year, $0.month, $0.isLeapMonth) = (2024, -1, true)
      $0.timeZone = TimeZone(identifier: "Europe/Paris")
      $0.calendar = Calendar(identifier: .gregorian)
    }
  }

  @Test(arguments: samples) func itComesBackEqualAndOfItsClass(_ sample: Sample) throws {
    let object = sample.object
    let back = try #require(try roundTrip(object) as? NSObject)
    #expect(ObjectIdentifier(back.classForCoder) == ObjectIdentifier(object.classForCoder))
    #expect(back.isEqual(object) && object.isEqual(back))
    #expect(try archive(object) == archive(back))
    // Nested, and with a list of classes.
    let data = try CBORKeyedArchiver.archivedData(withRootObject: NSArray(array: [object]), requiringSecureCoding: true)
    let all = try #require(
      try CBORKeyedUnarchiver.unarchivedObject(ofClasses: CBORKeyedUnarchiver.foundationClasses, from: data) as? NSArray
    )
    #expect((FoundationElements.elements(of: all).first as? NSObject)?.isEqual(object) == true)
    guard sample.isComparable else { return }
    let foundation = try NSKeyedUnarchiver(
      forReadingFrom: NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
    foundation.requiresSecureCoding = false
    foundation.decodingFailurePolicy = .setErrorAndReturn
    let expected = try #require(foundation.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? NSObject)
    #expect(ObjectIdentifier(back.classForCoder) == ObjectIdentifier(expected.classForCoder))
    #expect(back.isEqual(expected) && expected.isEqual(back))
  }

  @Test func objectsWithoutEqualityKeepTheirProperties() throws {
    let interval = NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 5.25), duration: 7)
    let interval2 = try #require(try roundTrip(interval) as? NSDateInterval)
    #expect(interval2.startDate == interval.startDate && interval2.duration == 7)
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withYear, .withMonth]
    formatter.timeZone = TimeZone(identifier: "Asia/Tokyo")
    let formatter2 = try #require(try roundTrip(formatter) as? ISO8601DateFormatter)
    #expect(formatter2.formatOptions == formatter.formatOptions && formatter2.timeZone == formatter.timeZone)
    let inner = NSError(domain: "inner", code: 1)
    let error = NSError(domain: "d", code: -5, userInfo: ["a": "b", NSUnderlyingErrorKey: inner, "list": [1, 2]])
    let error2 = try #require(try roundTrip(error) as? NSError)
    #expect(error2.domain == "d" && error2.code == -5 && error2.userInfo["a"] as? String == "b")
    #expect((error2.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "inner")
    #expect(error2.userInfo["list"] as? NSArray == [1, 2])
    let notification = NSNotification(name: NSNotification.Name("n"), object: "o", userInfo: ["k": 5])
    let notification2 = try #require(try roundTrip(notification) as? NSNotification)
    #expect(notification2.name == notification.name && notification2.object as? String == "o")
    #expect(notification2.userInfo?["k"] as? Int == 5)
    #expect((try roundTrip(NSDecimalNumber.notANumber) as? NSDecimalNumber)?.decimalValue.isNaN == true)
    // On Linux, comparing such sets and dictionaries traps.
    let set = try #require(try roundTrip(NSSet(array: [["a"], ["b", "c"]])) as? NSSet)
    #expect(set.count == 2 && set.contains(["a"]) && set.contains(["b", "c"]))
    let dictionary = try #require(try roundTrip(NSDictionary(dictionary: [["a"]: 1, ["b"]: 2])) as? NSDictionary)
    #expect(dictionary.count == 2 && dictionary.object(forKey: ["b"]) as? Int == 2)
    for number in [true, 1, 1.0, NSNumber(value: Float(1)), NSNumber(value: UInt64.max)] as [NSNumber] {
      let back = try #require(try roundTrip(number) as? NSNumber)
      #expect(String(cString: back.objCType) == String(cString: number.objCType))
    }
    // Foundation's archiver merges equal objects, so that 1 would return as true.
    let array = try #require(try roundTrip([true, 1, 1.0] as [Any]) as? NSArray)
    #expect(array.map { "\(type(of: $0))" } == NSArray(array: [true, 1, 1.0]).map { "\(type(of: $0))" })
  }

  /// The samples try that these objects come back; the bytes of other values are below.
  @Test func swiftValuesAreArchivedAsFoundationsObjects() throws {
    let values: [(Any, NSObject)] = [
      (Int8(-5), NSNumber(value: -5)), (UInt64.max, NSNumber(value: UInt64.max)), (CGFloat(2.5), NSNumber(value: 2.5)),
      (Optional("text") as Any, NSString(string: "text")), (Locale(identifier: "de"), NSLocale(localeIdentifier: "de")),
      ([1, 2] as [Int], NSArray(array: [1, 2])),
      (IndexPath(indexes: [1, 2]), NSIndexPath(indexes: [1, 2], length: 2)),
      (TimeZone(identifier: "Asia/Tokyo")!, NSTimeZone(name: "Asia/Tokyo")!),
      (URLQueryItem(name: "a", value: "b"), NSURLQueryItem(name: "a", value: "b")),
      (CharacterSet(charactersIn: "ab"), NSCharacterSet(charactersIn: "ab")),
    ]
    for (value, object) in values {
      #expect(try archive(value) == archive(object) && archive(Box(value)) == archive(Box(object)), "\(value)")
    }
    #expect((try roundTrip(IndexSet([1, 5])) as? NSIndexSet)?.isEqual(to: IndexSet([1, 5])) == true)
  }

  @Test func valuesThatAreNoObjectsAreAnError() {
    struct Value {}
    let values: [Any] = [
      Value(), { 5 }, (1, 2), Value.self, NSObject(), DateFormatter(), NSMutableArray(array: [Value()]),
    ]
    for value in values {
      #expect(message { _ = try archive(value) }.hasPrefix("encodingFailed"), "\(value)")
      #expect(message { _ = try archive(Box(value)) }.contains("CBORCodingTests.Box"), "\(value)")
    }
  }

  /// The stable forms that other programs read: changing one changes the format.
  @Test func theBytes() throws {
    let mutable = NSMutableString(string: "m")
    let uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
    let note = "d81b8270" + Data("TestSupport.Note".utf8).hex + "a2657469746c65617465636f756e7407"
    let forms: [(Any, String)] = [
      ("text", "6474657874"), (true, "f5"), (-3, "22"), (2.5, "fb4004000000000000"), (Float(2.5), "fa40200000"),
      (NSNull(), "f6"), (Data([1, 2]), "420102"), ([1, "a"] as [Any], "82016161"),
      (["b": 1, "a": 2], "a2616102616201"), (["bb": 1, "c": 2], "a261630262626201"), (Set([3, 1]), "d90102820103"),
      (Date(timeIntervalSinceReferenceDate: 0), "c11a3a4fc880"),
      (Date(timeIntervalSinceReferenceDate: 0.1), "d81b82664e5344617465fb3fb999999999999a"),
      (mutable, "d81b826f4e534d757461626c65537472696e67616d"), (URL(string: "a:b")!, "d82063613a62"),
      (uuid, "d82550000102030405060708090a0b0c0d0e0f"), (Decimal(string: "-1.5")!, "c482202e"),
      (NSOrderedSet(array: [2, 1]), "d81b826c4e534f726465726564536574820201"),
      (NSCountedSet(array: [7, 7]), "d81b826c4e53436f756e746564536574820702"),
      (Note(title: "t", count: 7), note),
    ]
    for (value, bytes) in forms { #expect(try archive(value).hex == "a164726f6f74" + bytes, "\(value)") }
    // A conditional object is a reference to a later one, or undefined without one.
    let archiver = CBORKeyedArchiver(requiringSecureCoding: true)
    archiver.encodeConditionalObject(mutable, forKey: "a")
    archiver.encode(mutable, forKey: "b")
    archiver.encodeConditionalObject(NSMutableString(string: "n"), forKey: "c")
    let string = "d81b826f4e534d757461626c65537472696e67616d"
    #expect(archiver.encodedData.hex == "a3" + "6161d81d00" + "6162d81c" + string + "6163f7")
  }
}
