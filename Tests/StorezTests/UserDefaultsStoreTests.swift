import Foundation
import Storez
import TestSupport
import Testing

/// Both an NSCoding object and Codable. Foundation on Linux can name top-level classes only.
final class Both: NSObject, NSCoding, Codable {
  let text: String
  init(_ text: String) { self.text = text }
  required init?(coder: NSCoder) { text = coder.decodeObject(of: NSString.self, forKey: "text").map { "\($0)" } ?? "" }
  func encode(with coder: NSCoder) { coder.encode(NSString(string: text), forKey: "text") }
}

// Conversions in the spelling of the original's blog post.

private struct Converted: Equatable, UserDefaultsConvertible {
  var strings: [String]

  typealias UnderlyingType = NSString

  static func decode(value: UnderlyingType) -> Converted? {
    Converted(strings: String(describing: value).components(separatedBy: ";"))
  }

  var encode: UnderlyingType? { NSString(string: strings.joined(separator: ";")) }
}

private enum Mode: Int, UserDefaultsConvertible {
  case day, night

  static func decode(value: NSNumber) -> Mode? { Mode(rawValue: value.intValue) }
  var encode: NSNumber? { NSNumber(value: rawValue) }
}

/// Implements neither spelling.
private struct Empty: UserDefaultsConvertible {
  typealias UserDefaultsType = NSString
}

@Suite(.serialized) struct UserDefaultsStoreTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  struct Test: Codable, Equatable { var x: Int }

  final class Nested: NSObject, NSCoding {
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }

  /// Stores a value, and compares the form that others wrote.
  private func check<V: Codable & Equatable>(_ value: V, default other: V, foreign: Any? = nil) {
    let key = Key<GlobalNamespace, V>(id: UUID().uuidString, defaultValue: other)
    #expect(store.get(key) == other)
    store.set(key, value: value)
    #expect(store.get(key) == value)
    if let foreign {
      store.defaults.set(foreign, forKey: key.stringValue)
      #expect(store.get(key) == value)
    }
  }

  private func check<V: NSObject & NSCoding>(object value: V) {
    let key = Key<GlobalNamespace, V?>(id: UUID().uuidString, defaultValue: nil)
    store.set(key, value: value)
    #expect(store.get(key) == value)
    store.set(key, nil)
    #expect(store.get(key) == nil)
  }

  @Test func valuesComeBack() throws {
    check(Test(x: 9), default: Test(x: 0), foreign: Data("[{\"x\":9}]".utf8))
    check(Date(timeIntervalSinceReferenceDate: 0.125), default: Date.distantPast)
    check(Data("[\"AAAA\"]".utf8), default: Data())
    check([1.5, .infinity], default: [Double]())
    check([[Int]](), default: [[1]])
    check([1, 2], default: [], foreign: [1, 2])
    check(3, default: 2, foreign: 3)
    check("text", default: "no", foreign: "text")
    check(9.5, default: 0, foreign: Data("[9.5]".utf8))
    check(object: NSArray(array: [1, 2, 3]))
    check(object: NSUUID())
    check(object: NSData(data: Data([1, 2])))
    // A type of both kinds uses its coder.
    let both = Key<GlobalNamespace, Both?>(id: "both", defaultValue: nil)
    store.set(both, value: Both("text"))
    #expect(store.get(both)?.text == "text")
    #expect((store.defaults.object(forKey: "both") as? Data)?.starts(with: "bplist".utf8) == true)
    // Objects are read as Swift types.
    let number = Key<GlobalNamespace, NSNumber>(id: "number", defaultValue: 0)
    store.set(number, value: NSNumber(value: 1.25))
    #expect(store.get(Key<GlobalNamespace, Double>(id: "number", defaultValue: 2)) == 1.25)
    #expect(store.get(Key<GlobalNamespace, Float?>(id: "number", defaultValue: nil)) == 1.25)
    store.set(number, value: NSNumber(value: true))
    #expect(store.get(Key<GlobalNamespace, Bool>(id: "number", defaultValue: false)))
    store.set(Key<GlobalNamespace, NSString>(id: "string", defaultValue: ""), value: NSString("yes"))
    #expect(store.get(Key<GlobalNamespace, String?>(id: "string", defaultValue: nil)) == "yes")
    let date = Date(timeIntervalSinceReferenceDate: 20)
    store.set(
      Key<GlobalNamespace, NSDate?>(id: "date", defaultValue: nil), value: NSDate(timeIntervalSinceReferenceDate: 20))
    #expect(store.get(Key<GlobalNamespace, Date>(id: "date", defaultValue: Date())) == date)
    // The original's form of nil.
    store.defaults.set(Data("[null]".utf8), forKey: "null")
    #expect(store.get(Key<GlobalNamespace, Test?>(id: "null", defaultValue: nil)) == nil)
    store.set(Key<GlobalNamespace, Test>(id: "test", defaultValue: Test(x: 0)), value: Test(x: 5))
    #expect(store.defaults.data(forKey: "test") == Data("[{\"x\":5}]".utf8))
  }

  @Test func valuesThatWouldNotBeReadBackAreReported() throws {
    let decimals = Key<GlobalNamespace, [Decimal]>(id: "decimals", defaultValue: [])
    let nan = #expect(throws: StorezFailure.self) { try store.throwing { $0.set(decimals, value: [.nan]) } }
    #expect(nan?.code == .encoding)
    let list = Key<GlobalNamespace, NSArray?>(id: "list", defaultValue: nil)
    for object in [
      NSDecimalNumber(string: "1.5"), NSError(domain: "d", code: 7), NSString("$null"),
      NSNotification(name: NSNotification.Name("n"), object: nil),
    ] {
      let error = #expect(throws: StorezFailure.self) {
        try store.throwing { $0.set(list, value: NSArray(array: [object])) }
      }
      #expect(error?.code == .encoding && "\(error!)".contains("ObjectCoding.Archiving.cbor"))
    }
    #if !canImport(Darwin)
      // Foundation's archiver ends the process for a nested class; the cache's own accepts it.
      let nested = #expect(throws: StorezFailure.self) {
        try store.throwing { $0.set(list, value: NSArray(array: [Nested()])) }
      }
      let key = Key<GlobalNamespace, Nested?>(id: "nested", defaultValue: nil)
      let temporary = try TemporaryCache()
      try temporary.store.throwing { $0.set(key, value: Nested()) }
      #expect(try nested?.code == .encoding && temporary.store.throwing { $0.get(key) } != nil)
    #endif
    #expect(store.defaults.object(forKey: "decimals") == nil && store.defaults.object(forKey: "list") == nil)
  }

  @Test func rawDataOfOthersIsRead() throws {
    let archive = try NSKeyedArchiver.archivedData(withRootObject: NSString("text"), requiringSecureCoding: false)
    for data in [Data([1, 2]), Data(), Data("[1]".utf8), archive] {
      store.defaults.set(data, forKey: "data")
      #expect(try store.throwing { $0.get(Key<GlobalNamespace, Data?>(id: "data", defaultValue: nil)) } == data)
      let object = Key<GlobalNamespace, NSData?>(id: "data", defaultValue: nil)
      #expect(try store.throwing { $0.get(object) } == NSData(data: data))
    }
    store.defaults.set(Data([1, 2]), forKey: "data")
    let text = Key<GlobalNamespace, String>(id: "data", defaultValue: "none")
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.get(text) } }
    #expect(error?.code == .decoding)
    let object = Key<GlobalNamespace, NSString?>(id: "data", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try store.throwing { $0.get(object) } }
  }

  @Test func aNumberThatTheTypeCannotHoldIsReported() throws {
    for (id, number) in [("fraction", 21.5), ("large", 1e300), ("integer", Int.max), ("whole", 2.0)] as [(String, Any)]
    {
      store.defaults.set(number, forKey: id)
    }
    func expectFailure<V: Codable & Equatable>(_ id: String, default other: V) {
      let key = Key<GlobalNamespace, V>(id: id, defaultValue: other)
      let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.get(key) } }
      #expect(error?.code == .decoding && store.get(key) == other)
    }
    expectFailure("fraction", default: -1)
    expectFailure("fraction", default: Int?.none)
    expectFailure("large", default: -1)
    expectFailure("large", default: Float(-1))
    expectFailure("integer", default: -1.0)
    let archived = Key<GlobalNamespace, NSNumber>(id: "archived", defaultValue: 0)
    store.set(archived, value: NSNumber(value: 21.5))
    expectFailure("archived", default: -1)
    #expect(store.get(Key<GlobalNamespace, Bool>(id: "whole", defaultValue: false)))
    #expect(store.get(Key<GlobalNamespace, Double>(id: "fraction", defaultValue: 0)) == 21.5)
    #expect(store.get(Key<GlobalNamespace, Int>(id: "integer", defaultValue: 0)) == Int.max)
    #expect(store.get(Key<GlobalNamespace, Int>(id: "whole", defaultValue: 0)) == 2)
    // So it can be migrated in place.
    let key = Key<GlobalNamespace, Int>(id: "fraction", defaultValue: 0)
    store.migrate([UserDefaultsStore.Migration(to: key, from: "fraction") { _ in 22 }])
    #expect(try store.throwing { $0.get(key) } == 22)
  }

  @Test func withoutASuiteClearingTouchesItsOwnKeysOnly() {
    let foreign = "storez-test-foreign-" + UUID().uuidString
    UserDefaults.standard.set("kept", forKey: foreign)
    defer { UserDefaults.standard.removeObject(forKey: foreign) }
    let key = Key<Animals, Int?>(id: "storez-test", defaultValue: nil)
    let store = UserDefaultsStore(suite: nil)
    store.set(key, value: 3)
    self.store.set(key, value: 4)
    // A new object, as in a later process: the list to clear is in the defaults.
    let later = UserDefaultsStore(suite: nil)
    #expect(later.get(key) == 3)
    later.clear()
    #expect(store.get(key) == nil)
    #expect(self.store.get(key) == 4)
    #expect(UserDefaults.standard.string(forKey: foreign) == "kept")
    #expect(UserDefaults.standard.object(forKey: "storez.keys") == nil)
  }

  @Test func conversions() {
    let key = Key<GlobalNamespace, Converted?>(id: "converted", defaultValue: nil)
    store.set(key, value: Converted(strings: ["fill", "in"]))
    #expect(store.get(key) == Converted(strings: ["fill", "in"]))
    let mode = Key<GlobalNamespace, Mode>(id: "mode", defaultValue: .day)
    #expect(store.get(mode) == .day)
    store.set(mode, value: .night)
    #expect(store.get(mode) == .night)
    let empty = Key<GlobalNamespace, Empty?>(id: "empty", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try store.throwing { $0.set(empty, value: Empty()) } }
  }
}
