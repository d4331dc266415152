import Foundation
import FoundationArchives
import Reliability
import TestSupport
import Testing

/// Has a field of every kind, for Foundation's archives.
final class Archived: NSObject, NSCoding {
  var text: String?
  var integer = 0
  var int32: Int32 = 0
  var double = 0.0
  var float: Float = 0
  var isOn = false
  var bytes: Data?
  var list: [String]?
  var data: Data?
  var child: Archived?
  var other: Archived?
  var unkeyed: String?
  var number: Int32 = 0
  var dollar: String?

  override init() {}

  func encode(with coder: NSCoder) {
    coder.encode(text, forKey: "text")
    coder.encode(integer, forKey: "integer")
    coder.encode(int32, forKey: "int32")
    coder.encode(double, forKey: "double")
    coder.encode(float, forKey: "float")
    coder.encode(isOn, forKey: "isOn")
    bytes.map { Array($0) }?.withUnsafeBufferPointer {
      coder.encodeBytes($0.baseAddress, length: $0.count, forKey: "bytes")
    }
    coder.encode(list.map { NSArray(array: $0) }, forKey: "list")
    coder.encode(data.map { NSData(data: $0) }, forKey: "data")
    coder.encode(child, forKey: "child")
    coder.encode(other, forKey: "other")
    coder.encode(unkeyed as Any?)
    coder.encodeValue(ofObjCType: "i", at: &number)
    coder.encode(dollar, forKey: "$dollar")
  }

  init?(coder: NSCoder) {
    text = coder.decodeObject(forKey: "text") as? String
    integer = coder.decodeInteger(forKey: "integer")
    int32 = coder.decodeInt32(forKey: "int32")
    double = coder.decodeDouble(forKey: "double")
    float = coder.decodeFloat(forKey: "float")
    isOn = coder.decodeBool(forKey: "isOn")
    bytes = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } }
    list = coder.decodeObject(forKey: "list") as? [String]
    data = coder.decodeObject(of: NSData.self, forKey: "data").map { $0 as Data }
    child = coder.decodeObject(forKey: "child") as? Archived
    other = coder.decodeObject(forKey: "other") as? Archived
    unkeyed = coder.decodeObject() as? String
    coder.decodeValue(ofObjCType: "i", at: &number)
    dollar = coder.decodeObject(forKey: "$dollar") as? String
  }
}

/// Archives of `NSKeyedArchiver`, real and forged.
@Suite struct KeyedArchiveTests {
  private typealias Tree = PropertyListTree

  private func archive(
    _ object: Any, asXML: Bool = false
  ) throws -> Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.outputFormat = asXML ? .xml : .binary
    archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
    archiver.finishEncoding()
    return archiver.encodedData
  }

  private static var values: [NSObject] {
    [
      NSString("text <&> ü \u{1F600}"), NSString(""), NSNumber(value: 1), NSNumber(value: -1), NSNumber(value: Int.min),
      NSNumber(value: UInt64.max), NSNumber(value: 0.1), NSNumber(value: true), NSNumber(value: false),
      NSData(data: Data((0..<600).map { UInt8(truncatingIfNeeded: $0) })), NSMutableData(data: Data([1, 2])),
      NSDate(timeIntervalSinceReferenceDate: 800_000_000.125), NSUUID(), NSURL(string: "https://example.org/a?b=c#d")!,
      NSURL(string: "b/c", relativeTo: URL(string: "https://example.org/a/")!)!, NSArray(),
      NSArray(array: [1, "two", 3.5]),
      NSMutableArray(array: ["a", ["b": [1, 2]]]), NSDictionary(dictionary: ["a": 1, "b": ["c", "d"]]),
      NSMutableDictionary(dictionary: ["k": "v"]), NSSet(array: ["a", "b", 1]), NSMutableSet(array: [1, 2]),
      NSOrderedSet(array: [3, 1, 2]), NSMutableOrderedSet(array: ["z", "a"]), NSCountedSet(array: ["a", "a", "b"]),
      NSArray(array: (0..<300).map { NSNumber(value: $0 * $0) }), NSAttributedString(string: "plain"),
      NSAttributedString(string: "ab", attributes: [NSAttributedString.Key("k"): NSNumber(value: 1)]),
      NSIndexSet(indexesIn: NSRange(location: 3, length: 4)), NSIndexPath(indexes: [1, 200, 70000], length: 3),
      NSValue(range: NSRange(location: 1, length: 2)), NSLocale(localeIdentifier: "de_DE"), NSTimeZone(name: "UTC")!,
      NSURLQueryItem(name: "n", value: "v"), NSMeasurement(doubleValue: 4, unit: UnitLength.kilometers),
      NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 5), duration: 6),
    ]
  }

  @Test(arguments: values.indices, [false, true])
  func foundationsValuesComeBack(_ index: Int, asXML: Bool) throws {
    let value = Self.values[index]
    let read = try #require(try KeyedArchive.root(of: archive(value, asXML: asXML)) as? NSObject)
    if let (interval, expected) = (read, value) as? (NSDateInterval, NSDateInterval) {
      // Its `isEqual` compares identity.
      #expect(interval.startDate == expected.startDate && interval.duration == expected.duration)
    } else {
      #expect(read.isEqual(value), "\(read) is not \(value)")
    }
    // The archiver writes a mutable string as immutable.
    #expect(type(of: read) == type(of: value) || value is NSNumber)
  }

  private static var notations: [(NSObject, String)] {
    [
      (NSString("text \"é\"\u{1B}[2J"), #""text \"é\"\u001b[2J""#), (NSNumber(value: -1), "-1"),
      (NSNumber(value: 0.5), "0.5"),
      (NSArray(array: [1, "two", NSArray()]), #"[1, "two", []]"#), (NSDictionary(dictionary: ["a": 1]), #"{"a": 1}"#),
      (NSData(data: Data([1, 255])), "h'01ff'"), (NSSet(array: ["a"]), #"NSSet["a"]"#), (NSNull(), "NSNull{}"),
      (NSDate(timeIntervalSinceReferenceDate: 700_000_001.5), "2023-03-08T20:26:41.500Z"),
      (NSURL(string: "https://swift.org")!, #"NSURL{NS.base: null, NS.relative: "https://swift.org"}"#),
    ]
  }

  @Test(arguments: notations.indices, [false, true])
  func archivesAreShown(_ index: Int, asXML: Bool) throws {
    let (object, text) = Self.notations[index]
    let notation = try KeyedArchiveNotation(archive(object, asXML: asXML))
    #expect(notation.text == text && !notation.isCut)
  }

  @Test func everyValueHasANotation() throws {
    for value in Self.values {
      let notation = try KeyedArchiveNotation(archive(value))
      #expect(!notation.text.isEmpty && !notation.isCut)
    }
  }

  @Test func objectsAreShownWithTheirClassAndOnce() throws {
    let object = Archived()
    let child = Archived()
    (object.text, object.integer, object.child, object.other) = ("text", 7, child, child)
    let text = try KeyedArchiveNotation(archive(object)).text
    #expect(text.hasPrefix("ReliabilityTests.Archived{"))
    #expect(text.contains(#"text: "text""#) && text.contains("integer: 7"))
    let label = try #require(text.firstMatch(of: #/child: (#[0-9]+)=ReliabilityTests.Archived{/#)).1
    #expect(text.contains("other: \(label)#"))
  }

  @Test func aNotationIsCutAtItsLimit() throws {
    let long = try KeyedArchiveNotation(archive(NSArray(array: (0..<10_000).map { NSNumber(value: $0) })), limit: 1_000)
    #expect(long.isCut && long.text.hasSuffix("…") && long.text.utf8.count < 1_020)
    let nested = Archived()
    for object in sequence(first: nested, next: { $0.child }).prefix(250) { object.child = Archived() }
    let deep = try KeyedArchiveNotation(archive(nested))
    #expect(deep.isCut && deep.text.contains("…"))
    #expect(throws: KeyedArchiveError.self) { try KeyedArchiveNotation(Data("bplist00 and no more".utf8)) }
  }

  @Test(arguments: WideArchive.allCases) func whatIsReferredToOftenIsLookedThroughOnce(_ wide: WideArchive) {
    let data = wide.data
    let text = Guarded("")
    #expect(
      finishes {
        let notation = try? KeyedArchiveNotation(data)
        text { $0 = notation?.text ?? "" }
      })
    #expect(text.current.hasPrefix("[#2=NSNull{") && text.current.hasSuffix(", #2#]"))
  }

  /// Thirty thousand numbers refer to one object with many fields, so readers see as many objects.
  @Test func anObjectOfManyNumbersIsNotReadForEver() {
    let data = Self.objectOfManyNumbers(30_000, fields: 10_000)
    let notation = Guarded<KeyedArchiveNotation?>(nil)
    #expect(
      finishes {
        let made = try? KeyedArchiveNotation(data)
        notation { $0 = made }
      })
    #expect(notation.current?.isCut == true && notation.current?.text.hasPrefix(#"["", "", "#) == true)
    let failure = Guarded("")
    #expect(
      finishes {
        do { _ = try KeyedArchive.root(of: data) } catch { failure { $0 = "\(error)" } }
      })
    #expect(failure.current.contains("more often"))
  }

  /// A binary list of them: empty strings with many fields that strings do not have.
  private static func objectOfManyNumbers(_ count: Int, fields: Int) -> Data {
    var nodes: [[UInt8]] = []
    func digits(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    func add(_ node: [UInt8]) -> Int {
      nodes.append(node)
      return nodes.count - 1
    }
    func head(_ kind: UInt8, _ count: Int) -> [UInt8] { [kind << 4 | 15, 0x12] + digits(count, 4) }
    func text(_ text: String) -> Int { add(head(5, text.utf8.count) + Array(text.utf8)) }
    func uid(_ number: Int) -> Int { add([0x83] + digits(number, 4)) }
    func array(_ places: [Int]) -> Int { add(head(0xA, places.count) + places.flatMap { digits($0, 2) }) }
    func dictionary(_ entries: [(key: Int, value: Int)]) -> Int {
      let places = entries.map(\.key) + entries.map(\.value)
      return add(head(0xD, entries.count) + places.flatMap { digits($0, 2) })
    }
    let (classKey, nameKey, empty) = (text("$class"), text("$classname"), text(""))
    let more = (0..<fields).map { (key: text("k\($0)"), value: empty) }
    let own: [(key: Int, value: Int)] = [(classKey, uid(2)), (text("NS.string"), empty)]
    let object = dictionary(own + more)
    let elements = array((0..<count).map { uid(4 + $0) })
    let described = ["NSString", "NSArray"].map { dictionary([(nameKey, text($0))]) }
    let root = dictionary([(classKey, uid(3)), (text("NS.objects"), elements)])
    let objects = array([text("$null"), root] + described + [Int](repeating: object, count: count))
    let top = dictionary([
      (text("$archiver"), text("NSKeyedArchiver")), (text("$version"), add([0x12] + digits(100_000, 4))),
      (text("$top"), dictionary([(text("root"), uid(1))])), (text("$objects"), objects),
    ])
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for node in nodes {
      offsets += digits(bytes.count, 4)
      bytes += node
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 2]
    return Data(bytes + digits(nodes.count, 8) + digits(top, 8) + digits(table, 8))
  }

  @Test func rangesAndAttributesComeBack() throws {
    let indexes = NSMutableIndexSet(indexesIn: NSRange(location: 1, length: 3))
    indexes.add(in: NSRange(location: 300, length: 200))
    #expect(try (KeyedArchive.root(of: archive(indexes)) as? NSMutableIndexSet)?.isEqual(indexes) == true)
    let string = NSMutableAttributedString(string: "attributed text")
    string.addAttribute(NSAttributedString.Key("a"), value: NSNumber(value: 1), range: NSRange(location: 0, length: 4))
    string.addAttribute(NSAttributedString.Key("b"), value: "x", range: NSRange(location: 2, length: 6))
    let read = try KeyedArchive.root(of: archive(string)) as? NSAttributedString
    #expect(read?.string == string.string)
    for index in 0..<string.length {
      let (found, expected) = (
        read?.attributes(at: index, effectiveRange: nil), string.attributes(at: index, effectiveRange: nil)
      )
      #expect(found?.keys == expected.keys)
    }
    let rectangle = NSRect(x: 1.5, y: -2, width: 3, height: 4)
    #expect(try (KeyedArchive.root(of: archive(NSValue(rect: rectangle))) as? NSValue)?.rectValue == rectangle)
  }

  @Test(arguments: [false, true]) func objectsComeBack(asXML: Bool) throws {
    let object = Archived()
    let child = Archived()
    child.text = "child"
    (object.text, object.integer, object.int32, object.double) = ("text", .min, -5, 0.1)
    (object.float, object.isOn, object.bytes, object.list) = (1.5, true, Data([1, 2, 3]), ["a", "b"])
    (object.data, object.child, object.other, object.unkeyed) = (Data([4, 5]), child, child, "unkeyed")
    (object.number, object.dollar) = (77, "dollar")
    let read = try KeyedArchive.object(Archived.self, from: archive(object, asXML: asXML))
    #expect(read.text == "text" && read.integer == .min && read.int32 == -5 && read.double == 0.1)
    #expect(read.float == 1.5 && read.isOn && read.bytes == Data([1, 2, 3]) && read.list == ["a", "b"])
    #expect(read.data == Data([4, 5]) && read.child?.text == "child" && read.child === read.other)
    #expect(read.unkeyed == "unkeyed" && read.number == 77 && read.dollar == "dollar")
  }

  /// A decimal number in Apple's form; the archiver on Linux cannot write one.
  @Test func decimalNumbersOfApplesComeBack() throws {
    let tree = Self.archive([
      Self.object(
        2, ("NS.mantissa", .data([15, 0] + [UInt8](repeating: 0, count: 14))), ("NS.exponent", .integer(-1)),
        ("NS.length", .integer(1)), ("NS.negative", .boolean(true)), ("NS.mantissa.bo", .integer(1))),
      Self.classNamed("NSDecimalNumber", "NSNumber"),
    ])
    let read = try KeyedArchive.object(NSDecimalNumber.self, from: Data(tree.binary))
    #expect(read.decimalValue == Decimal(string: "-1.5"))
  }

  @Test func aClassThatIsNotPermittedIsNeverMade() throws {
    let data = try archive(NSArray(array: [Archived()]))
    let allowed: [AnyClass] = [NSArray.self]
    #expect(throws: (any Error).self) { try KeyedArchive.root(of: data, permitted: allowed) }
    #expect(try KeyedArchive.root(of: data, permitted: allowed + [NSObject.self]) is NSArray)
    #expect(try KeyedArchive.root(of: data, permitted: allowed + [Archived.self]) is NSArray)
  }

  // MARK: Made up

  private static func classNamed(_ names: String...) -> Tree {
    .dictionary([("$classname", .string(names[0])), ("$classes", .array((names + ["NSObject"]).map { .string($0) }))])
  }

  private static func object(_ classNumber: Int, _ fields: (String, Tree)...) -> Tree {
    .dictionary(fields.map { (key: $0.0, value: $0.1) } + [(key: "$class", value: .uid(classNumber))])
  }

  /// An archive whose root is the first object.
  private static func archive(_ objects: [Tree]) -> Tree {
    .dictionary([
      ("$archiver", .string("NSKeyedArchiver")), ("$version", .integer(100_000)),
      ("$top", .dictionary([("root", .uid(1))])), ("$objects", .array([.string("$null")] + objects)),
    ])
  }

  private static func uids(_ numbers: Int...) -> Tree { .array(numbers.map { .uid($0) }) }

  /// Foundation on Linux crashes, hangs or accepts each of these.
  private static let madeUp: [(String, Tree)] = [
    ("an array in itself", archive([object(2, ("NS.objects", uids(1))), classNamed("NSMutableArray")])),
    ("an object in itself", archive([object(2, ("child", .uid(1))), classNamed("ReliabilityTests.Archived")])),
    ("a class that is an object", archive([object(1, ("NS.objects", uids(2))), .string("x")])),
    ("a class that is no class", archive([object(2), .string("NSArray")])),
    ("no such object", archive([object(2, ("NS.objects", uids(99))), classNamed("NSArray")])),
    (
      "elements that are no references",
      archive([object(2, ("NS.objects", .array([.string("x")]))), classNamed("NSArray")])
    ),
    ("elements that are no array", archive([object(2, ("NS.objects", .integer(1))), classNamed("NSArray")])),
    (
      "more keys than values",
      archive([
        object(2, ("NS.keys", uids(3, 3)), ("NS.objects", uids(3))), classNamed("NSDictionary"), .string("x"),
      ])
    ),
    (
      "equal keys",
      archive([
        object(2, ("NS.keys", uids(3, 3)), ("NS.objects", uids(3, 3))), classNamed("NSDictionary"), .string("x"),
      ])
    ),
    ("nil in an array", archive([object(2, ("NS.objects", uids(0))), classNamed("NSArray")])),
    ("a date without a time", archive([object(2), classNamed("NSDate")])),
    (
      "an interval between dates without end",
      archive([
        object(2, ("NS.startDate", .uid(3)), ("NS.endDate", .uid(3))), classNamed("NSDateInterval"),
        object(4, ("NS.time", .real(.infinity))), classNamed("NSDate"),
      ])
    ),
    (
      "a set of characters without a number",
      archive([object(2, ("NSBuiltinID", .integer(.min))), classNamed("NSCharacterSet")])
    ),
    ("a date of text", archive([object(2, ("NS.time", .string("x"))), classNamed("NSDate")])),
    ("a UUID that is too short", archive([object(2, ("NS.uuidbytes", .data([1]))), classNamed("NSUUID")])),
    ("a URL without text", archive([object(2, ("NS.relative", .uid(0))), classNamed("NSURL")])),
    (
      "a base that NSURL takes and URL does not",
      archive([
        object(3, ("NS.relative", .uid(4)), ("NS.base", .uid(2))),
        object(3, ("NS.relative", .uid(5)), ("NS.base", .uid(0))), classNamed("NSURL"), .string("b"),
        .string("thttps$:/example.org/"),
      ])
    ),
    (
      "a count beyond memory",
      archive([
        object(2, ("NS.count", .integer(1)), ("NS.object0", .uid(3)), ("NS.count0", .integer(.max))),
        classNamed("NSCountedSet"), .string("x"),
      ])
    ),
    (
      "a range beyond all",
      archive([
        object(2, ("NSRangeCount", .integer(1)), ("NSLocation", .integer(.max)), ("NSLength", .integer(.max))),
        classNamed("NSIndexSet"),
      ])
    ),
    ("a class of Foundation's that decodes nothing", archive([object(2), classNamed("NSThread")])),
    ("a class of Swift's", archive([object(2), classNamed("Swift.AnyKeyPath")])),
    ("a name that the runtime would read as it likes", archive([object(2), classNamed("\u{1}\u{2}")])),
    ("a class that is not there", archive([object(2), classNamed("Nowhere.Nothing")])),
    (
      "an error as a key",
      archive([
        object(2, ("NS.objects", uids(3))), classNamed("NSSet"),
        object(4, ("NSDomain", .string("d")), ("NSCode", .integer(1))),
        classNamed("NSError"),
      ])
    ),
    ("an object that is a reference", archive([.uid(1)])),
    ("an object that is an array", archive([.array([.uid(1)])])),
    (
      "no root",
      .dictionary([
        ("$archiver", .string("NSKeyedArchiver")), ("$version", .integer(100_000)), ("$top", .dictionary([])),
        ("$objects", .array([.string("$null")])),
      ])
    ),
    (
      "a root that is no reference",
      .dictionary([
        ("$archiver", .string("NSKeyedArchiver")), ("$version", .integer(100_000)),
        ("$top", .dictionary([("root", .array([]))])), ("$objects", .array([.string("$null")])),
      ])
    ),
    ("no archive", .array([])),
    (
      "the version of a future",
      .dictionary([("$archiver", .string("NSKeyedArchiver")), ("$version", .integer(200_000))])
    ),
  ]

  @Test(arguments: madeUp.indices) func whatIsMadeUpIsAnError(_ index: Int) throws {
    let (name, tree) = Self.madeUp[index]
    #expect(throws: (any Error).self, "\(name)") { try KeyedArchive.root(of: Data(tree.binary)) }
  }

  @Test(arguments: [512 << 10, 8 << 20]) func deepArchivesAreAnError(_ stack: Int) {
    let isRefused = onThread(stack: stack) {
      let objects = (0..<10_000).map { Self.object(10_001, ("NS.objects", Self.uids($0 + 2))) }
      let tree = Self.archive(objects + [Self.classNamed("NSArray")])
      do {
        _ = try KeyedArchive.root(of: Data(tree.binary))
        return false
      } catch { return true }
    }
    #expect(isRefused)
  }

  /// Each array holds the previous one, which was read before: reading does not nest, but releasing does.
  @Test func referencesDoNotLeadToAnyDepth() throws {
    func chain(_ length: Int) -> Data {
      let arrays = (0..<length).map { Self.object(2, ("NS.objects", $0 == 0 ? .array([]) : Self.uids($0 + 2))) }
      let root = Self.object(2, ("NS.objects", .array((0..<length).map { .uid($0 + 3) })))
      return Data(Self.archive([root, Self.classNamed("NSArray")] + arrays).binary)
    }
    #expect(try KeyedArchive.object(NSArray.self, from: chain(10_000)).count == 10_000)
    #expect(throws: (any Error).self) { try KeyedArchive.root(of: chain(60_000)) }
  }

  @Test func referencesInPlaceOfObjectsAreCut() throws {
    let number = 100_000
    let trees = [
      Self.archive([.uid(1)]), Self.archive((0..<number).map { .uid($0 + 2) } + [.string("end")]),
      Self.archive([.array([.uid(1)])]),
    ]
    for tree in trees {
      let notation = try KeyedArchiveNotation(Data(tree.binary))
      #expect(notation.isCut && notation.text.utf8.count < 1_000)
    }
  }

  /// Sixty arrays of two references to the next: comparing two of them would take forever.
  @Test func sharedPartsAreNotComparedForEver() throws {
    let levels = 60
    var objects: [Tree] = []
    for part in 0..<2 {
      for level in 0..<levels {
        let next = 3 + part * (levels + 1) + level
        objects.append(Self.object(2, ("NS.objects", Self.uids(next + 1, next + 1))))
      }
      objects.append(.string("end"))
    }
    let root = Self.object(2 + objects.count + 1, ("NS.objects", Self.uids(3, 3 + levels + 1)))
    let tree = Self.archive([root, Self.classNamed("NSArray")] + objects + [Self.classNamed("NSSet")])
    #expect(finishes { #expect(throws: (any Error).self) { try KeyedArchive.root(of: Data(tree.binary)) } })
  }

  /// Overlapping objects form a list many times as large as its bytes.
  @Test func objectsThatLieOverEachOtherAreAnError() throws {
    let references = 20_000
    var bytes = Array("bplist00".utf8)
    bytes += [0xAF, 0x12, 0, 0, UInt8(references >> 8), UInt8(references & 0xFF)]
    bytes += [UInt8](repeating: 0, count: references * 2)
    let table = bytes.count
    for _ in 0..<20_000 { bytes += [0, 8] }
    func eight(_ value: Int) -> [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    bytes += [0, 0, 0, 0, 0, 0, 2, 2] + eight(20_000) + eight(0) + eight(table)
    let error = #expect(throws: (any Error).self) { try KeyedArchive.root(of: Data(bytes)) }
    #expect("\(error!)".contains("over each other"))
  }

  @Test(arguments: [
    "", "<", "<plist", "<plist>", "<plist></plist>", "<plist><dict></plist>",
    "<plist><dict><key>a</key></dict></plist>",
    "<plist><string>&x;</string></plist>", "<plist><integer>x</integer></plist>", "<plist><data>?</data></plist>",
    "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>", "<plist><dict><string/></dict></plist>",
  ])
  func xmlThatIsNoArchiveIsAnError(_ text: String) {
    #expect(throws: (any Error).self) { try KeyedArchive.root(of: Data(text.utf8)) }
  }

  @Test func everyPrefixIsAnError() throws {
    for asXML in [false, true] {
      let data = try archive(NSArray(array: [Archived(), "x"]), asXML: asXML)
      // Without the newline at the end, the archive is still complete.
      for length in 0..<data.count - 1 {
        #expect(throws: (any Error).self) { try KeyedArchive.root(of: data.prefix(length)) }
      }
    }
  }
}
