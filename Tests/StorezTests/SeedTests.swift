import Foundation
import Storez
import Testing

// The code of the blog post on type safety in Storez, in today's Swift: NSUserDefaults is UserDefaults, a protocol's
// `typealias` is `associatedtype`, and a function's constraints are at its end.

/// The post's small store, for objects of tagged classes.
private protocol TaggedSerializable: AnyObject {}

extension NSNumber: TaggedSerializable {}
extension NSDate: TaggedSerializable {}
extension NSData: TaggedSerializable {}
extension NSString: TaggedSerializable {}

private protocol EntryType {
  associatedtype ValueType
  var key: String { get }
  var defaultValue: ValueType { get }
}

private struct Entry<V>: EntryType {
  let key: String
  let defaultValue: V
}

private final class TaggedStore {
  private var objects: [String: any TaggedSerializable] = [:]

  func get<V: TaggedSerializable>(key: String) -> V? { objects[key] as? V }
  func set(key: String, value: (any TaggedSerializable)?) { objects[key] = value }

  private func _get<V: TaggedSerializable>(_ key: String) -> V? { get(key: key) }

  func get<E: EntryType>(entry: E) -> E.ValueType where E.ValueType: TaggedSerializable {
    _get(entry.key) ?? entry.defaultValue
  }

  func get<E: EntryType, V: TaggedSerializable>(entry: E) -> V? where E.ValueType == V? { _get(entry.key) }
}

/// The post's spelling of a conversion, for the library's store.
private struct CustomObject: Equatable, UserDefaultsConvertible {
  var strings: [String]

  typealias UnderlyingType = NSString

  static func decode(value: UnderlyingType) -> CustomObject? {
    CustomObject(strings: String(describing: value).components(separatedBy: ";"))
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

struct SeedTests {
  @Test func aConversionThatIsNotImplementedIsReported() {
    let suite = TemporarySuite()
    let key = Key<GlobalNamespace, Empty?>(id: "empty", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try suite.store.throwing { $0.set(key, value: Empty()) } }
    #expect(suite.store.defaults.object(forKey: "empty") == nil)
  }

  @Test func theSmallStore() {
    let store = TaggedStore()
    store.set(key: "number", value: NSNumber(value: 3))
    #expect(store.get(key: "number") == NSNumber(value: 3))
    let missing: NSDate? = store.get(key: "number")
    #expect(missing == nil)
    #expect(store.get(entry: Entry(key: "number", defaultValue: NSNumber(value: 5))) == 3)
    #expect(store.get(entry: Entry(key: "none", defaultValue: NSNumber(value: 5))) == 5)
    #expect(store.get(entry: Entry<NSNumber?>(key: "none", defaultValue: nil)) == nil)
  }

  @Test func thePostsConversionInTheLibrarysStore() {
    let suite = TemporarySuite()
    let key = Key<GlobalNamespace, CustomObject?>(id: "custom", defaultValue: nil)
    suite.store.set(key, value: CustomObject(strings: ["fill", "in"]))
    #expect(suite.store.get(key) == CustomObject(strings: ["fill", "in"]))
    // An enumeration can conform.
    let mode = Key<GlobalNamespace, Mode>(id: "mode", defaultValue: .day)
    #expect(suite.store.get(mode) == .day)
    suite.store.set(mode, value: .night)
    #expect(suite.store.get(mode) == .night)
  }
}
