import EFStorageUserDefaults
import Foundation

/// Contents of every type that user defaults can hold, written by one process and compared by another.
enum DefaultsExchange {
  private struct Point: Codable, Equatable, UserDefaultsStorable {
    var x: Double
    var name: String?
  }

  private enum Level: Int, UserDefaultsStorable { case low = 1, high }
  private enum Mode: String, Codable, UserDefaultsStorable { case day, night }
  private enum Theme: String, UserDefaultsStorable { case light, dark }

  private typealias AnyContent = any UserDefaultsStorable & Equatable

  private static var numbers: [AnyContent] {
    [
      Int8.min, Int16.min, Int32.min, Int64.min, Int.max, UInt8.max, UInt16.max, UInt32.max, UInt64.max, UInt.max,
      Float(0.1), 0.30000000000000004, CGFloat(1.1), Double.infinity, 5.0, true, false, NSNumber(value: 42),
      Decimal(string: "-1234567890123456789.0123456789")!, Double(sign: .minus, exponent: 0, significand: 0),
    ]
  }

  private static var values: [AnyContent] {
    [
      "\u{e9}<&\r\n\u{0}😀 ", "", "\u{feff}a\u{feff}", NSString(string: "object"), String?.some("there"),
      Data([0, 1, 255]), Date(timeIntervalSinceReferenceDate: 700_000_001.512_345),
      Date(timeIntervalSinceReferenceDate: 700_000_001), Date.distantPast, Date.distantFuture,
      URL(string: "https://example.org/a?b=c#d")!, URL(string: "/a?b")!,
      UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!, Level.high, Mode.night, Point(x: .infinity, name: nil),
      Point(x: 0, name: "\u{feff}"),
    ]
  }

  private static var collections: [AnyContent] {
    [
      [1, -1] as [Int8], [0.1, .infinity] as [Float], [-0.0, 0, 1] as [Float], [] as [String],
      [Date(timeIntervalSinceReferenceDate: 0.5)] as [Date],
      ["a": ["b": [1.5, 2]], "": [:]] as [String: [String: [Double]]],
      [["x": Data([1])], [:]] as [[String: Data]], NSArray(array: [NSNumber(value: 1), NSString(string: "two")]),
      ["\u{feff}": ["\u{feff}\u{feff}", "\u{feff}"], "a": [], "\u{feff}a": ["b"]] as [String: [String]],
      ["\u{feff}": .dark] as [String: Theme], Set([3, 1, 2]), Set([Theme.dark, .light]), Set([Data([1])]),
      [.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0] as [Decimal], [.night, .day] as [Mode],
      ["a": [[.dark], []]] as [String: [[Theme]]], [Point(x: 1, name: "a"), Point(x: 2, name: nil)] as [Point],
      [URL(string: "https://example.org")!, URL(fileURLWithPath: "/tmp/a b")] as [URL],
      [URL(string: "a/b#c")!] as [URL],
      Set([UUID(uuidString: "00000000-0000-0000-0000-000000000000")!]),
    ]
  }

  private static func each(of suite: String, _ body: (AnyContent, String, UserDefaults) -> Void) throws {
    guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
    for (number, content) in (numbers + values + collections).enumerated() { body(content, "key\(number)", defaults) }
  }

  // Nothing synchronizes, so the contents must reach the file without it.
  static func write(suite: String) throws {
    func write<Content: UserDefaultsStorable & Equatable>(_ content: Content, _ key: String, _ defaults: UserDefaults) {
      EFStorageUserDefaultsRef<Content>.forKey(key, in: defaults).content = content
    }
    try each(of: suite) { content, key, defaults in write(content, key, defaults) }
  }

  static func read(suite: String) throws {
    func compare<Content: UserDefaultsStorable & Equatable>(_ content: Content, _ key: String, _ defaults: UserDefaults)
    {
      let found = EFStorageUserDefaultsRef<Content>.forKey(key, in: defaults).content
      // `==` ignores the sign of zero.
      let isSigned = content is Double || content is [Float]
      if found != content || isSigned && found.map({ "\($0)" }) != "\(content)" {
        print("wrote \(content), read \(found as Any)")
      }
    }
    try each(of: suite) { content, key, defaults in compare(content, key, defaults) }
    print("compared")
  }
}
