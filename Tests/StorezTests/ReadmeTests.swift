import Foundation
import Storez
import TestSupport
import Testing

// The code of the original's README and blog post, with two renames from the migration note: `joinWithSeparator` is
// `joined(separator:)`, and NSNotificationCenter is NotificationCenter.

private struct CustomObject: Codable {
  var strings: [String]
}

private struct MyKey<G: Namespace, V>: KeyType {
  typealias NamespaceType = G
  typealias ValueType = V

  var stringValue: String
  var defaultValue: ValueType

  func didChange(oldValue: ValueType, newValue: ValueType) {
    NotificationCenter.default.post(name: Notification.Name(stringValue), object: nil)
  }
}

/// The post's spelling of a conversion.
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

struct ReadmeTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  @Test func customObjects() {
    let customObject = CustomObject(strings: ["fill", "in", "the"])
    let CustomValue = Key<GlobalNamespace, CustomObject?>(id: "custom", defaultValue: nil) {
      var processedValue = $0
      processedValue?.strings.append("blank!")
      return processedValue
    }
    store.set(CustomValue, value: customObject)
    #expect(store.get(CustomValue)?.strings.joined(separator: " ") == "fill in the blank!")
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

  @Test func aCustomKey() {
    let name = "notified-" + UUID().uuidString
    let key = MyKey<GlobalNamespace, Int>(stringValue: name, defaultValue: 0)
    let count = Guarded(0)
    let observer = NotificationCenter.default.addObserver(forName: Notification.Name(name), object: nil, queue: nil) {
      _ in
      count { $0 += 1 }
    }
    store.set(key, value: 1)
    CacheStore().set(key, value: 1)
    #expect(count.current == 2)
    NotificationCenter.default.removeObserver(observer)
  }
}
