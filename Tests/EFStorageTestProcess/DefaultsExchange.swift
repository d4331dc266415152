import EFStorageUserDefaults
import Foundation

extension UUID {
  fileprivate static let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

/// Contents of every type that user defaults can hold, written by one process and compared by another.
enum DefaultsExchange {
  struct Point: Codable, Equatable, UserDefaultsStorable {
    var x: Double
    var name: String?
  }

  enum Level: Int, UserDefaultsStorable { case low = 1, high }
  enum Mode: String, Codable, UserDefaultsStorable { case day, night }
  enum Theme: String, UserDefaultsStorable { case light, dark }

  private static func defaults(_ suite: String) throws -> UserDefaults {
    guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
    return defaults
  }

  static func write(suite: String) throws {
    let defaults = try defaults(suite)
    each { key, content in content.write(key, defaults) }
    // Nothing synchronizes here: what was written has to reach the file by itself.
  }

  static func read(suite: String) throws {
    let defaults = try defaults(suite)
    each { key, content in
      if let difference = content.difference(key, defaults) { print("\(key): \(difference)") }
    }
    print("compared")
  }

  private struct AnyContent {
    let write: (String, UserDefaults) -> Void
    let difference: (String, UserDefaults) -> String?

    init<Content: UserDefaultsStorable & Equatable>(
      _ content: Content, isSame: @escaping (Content, Content) -> Bool = { $0 == $1 }
    ) {
      write = { EFStorageUserDefaultsRef.forKey($0, in: $1).content = content }
      difference = { key, defaults in
        let found = EFStorageUserDefaultsRef<Content>.forKey(key, in: defaults).content
        return found.map { isSame($0, content) } ?? false ? nil : "wrote \(content), read \(found as Any)"
      }
    }
  }

  private static func each(_ body: (String, AnyContent) -> Void) {
    let contents: [(String, AnyContent)] = [
      ("int8", .init(Int8.min)), ("int16", .init(Int16.min)), ("int32", .init(Int32.min)), ("int64", .init(Int64.min)),
      ("int", .init(Int.max)), ("uint8", .init(UInt8.max)), ("uint16", .init(UInt16.max)),
      ("uint32", .init(UInt32.max)), ("uint64", .init(UInt64.max)), ("uint", .init(UInt.max)),
      ("float", .init(Float(0.1))), ("double", .init(0.1 + 0.2)), ("cgfloat", .init(CGFloat(1.1))),
      ("infinity", .init(-Double.infinity)), ("whole", .init(5.0)), ("bool", .init(true)), ("no", .init(false)),
      ("string", .init("é<&\r\n\u{0}😀 ")), ("empty", .init("")),
      ("data", .init(Data([0, 1, 255]))), ("date", .init(Date(timeIntervalSinceReferenceDate: 700_000_001.512_345))),
      ("wholeDate", .init(Date(timeIntervalSinceReferenceDate: 700_000_001))),
      ("distantPast", .init(Date.distantPast)), ("distantFuture", .init(Date.distantFuture)),
      ("url", .init(URL(string: "https://example.org/a?b=c#d")!)),
      ("uuid", .init(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!)),
      ("array", .init([Int8(1), -1])), ("floats", .init([Float(0.1), .infinity])),
      ("dates", .init([Date(timeIntervalSinceReferenceDate: 0.5)])), ("emptyArray", .init([String]())),
      ("dictionary", .init(["a": ["b": [1.5, 2]], "": [:]])), ("nested", .init([["x": Data([1])], [:]])),
      ("codable", .init(Point(x: .infinity, name: nil))), ("level", .init(Level.high)), ("mode", .init(Mode.night)),
      ("nsstring", .init(NSString(string: "object"))), ("nsnumber", .init(NSNumber(value: 42))),
      ("nsarray", .init(NSArray(array: [NSNumber(value: 1), NSString(string: "two")]))),
      ("optional", .init(String?.some("there"))), ("negativeZero", .init(-0.0) { "\($0)" == "\($1)" }),
      ("negativeZeros", .init([Float(-0.0), 0, 1]) { "\($0)" == "\($1)" }), ("mark", .init("\u{feff}a\u{feff}")),
      ("marks", .init(["\u{feff}": ["\u{feff}\u{feff}", "\u{feff}"], "a": [], "\u{feff}a": ["b"]])),
      ("markedMode", .init(["\u{feff}": Theme.dark])), ("codableMark", .init(Point(x: -0.0, name: "\u{feff}"))),
      ("set", .init(Set([3, 1, 2]))), ("themes", .init(Set([Theme.dark, .light]))),
      ("dataSet", .init(Set([Data([1])]))),
      ("decimal", .init(Decimal(string: "-1234567890123456789.0123456789")!)),
      ("decimals", .init([Decimal.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0])),
      ("modes", .init([Mode.night, .day])),
      ("nestedThemes", .init(["a": [[Theme.dark], []]])),
      ("points", .init([Point(x: 1, name: "a"), Point(x: 2, name: nil)])),
      ("urls", .init([URL(string: "https://example.org")!, URL(fileURLWithPath: "/tmp/a b")])),
      ("relative", .init(URL(string: "/a?b")!)), ("relatives", .init([URL(string: "a/b#c")!])),
      ("uuids", .init(Set([UUID.zero]))),
    ]
    for (key, content) in contents { body(key, content) }
  }
}
