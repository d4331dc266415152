import Foundation
import Storez
import TestSupport
import Testing

// The code of the original's README, with two renames from the migration note: `joinWithSeparator` is
// `joined(separator:)`, and NSNotificationCenter is NotificationCenter.

private final class WeatherService {
  private enum Keys: Namespace {
    static let id = "weather-service"
    static let temperature = Key<Keys, Double>(id: "temp", defaultValue: 0.0)
  }

  private let store: UserDefaultsStore

  var temperature: Double {
    return store.get(Keys.temperature)
  }

  init(store: UserDefaultsStore) {
    self.store = store
  }

  func weatherUpdate(temperature: Double) {
    store.set(Keys.temperature, temperature)
  }
}

private struct Zoo: Namespace {
  static let id = "animals"
}

private struct BigCats: Namespace {
  typealias parent = Zoo
  static let id = "cats"

  // Not static, so never called, as in the original.
  func preCommitHook() { /* custom code */  }
  func postCommitHook() { /* custom code */  }
}

private struct CustomObject: Codable {
  var strings: [String]
}

// For example, make an key that emits NSNotifications
private struct MyKey<G: Namespace, V>: KeyType {

  typealias NamespaceType = G
  typealias ValueType = V

  var stringValue: String
  var defaultValue: ValueType

  func didChange(oldValue: ValueType, newValue: ValueType) {
    NotificationCenter.default.post(name: Notification.Name(stringValue), object: nil)
  }
}

struct ReadmeTests {
  let suite = TemporarySuite()

  @Test func values() {
    let service = WeatherService(store: suite.store)
    #expect(service.temperature == 0)
    service.weatherUpdate(temperature: 21)
    #expect(service.temperature == 21)

    let store = suite.store
    let key = Key<GlobalNamespace, Int?>(id: "key", defaultValue: nil)
    store.set(key, value: 8)
    #expect(store.get(key) == 8)
    store.clear()
    #expect(store.get(key) == nil)
    let nonnull = Key<GlobalNamespace, String>(id: "nonnull", defaultValue: "!")
    #expect(store.get(nonnull).isEmpty == false)
    store.set(nonnull, value: "")
    #expect(store.get(nonnull).isEmpty == true)
  }

  @Test func names() {
    let kingdom = Key<Zoo, Void?>(id: "mammals", defaultValue: nil)
    #expect(kingdom.stringValue == "animals:mammals")
    let cat = Key<BigCats, Void?>(id: "lion", defaultValue: nil)
    #expect(cat.stringValue == "animals:cats:lion")
    BigCats().preCommitHook()
    BigCats().postCommitHook()
  }

  @Test func customObjects() {
    let store = suite.store
    let customObject = CustomObject(
      strings: ["fill", "in", "the"]
    )

    let CustomValue = Key<GlobalNamespace, CustomObject?>(id: "custom", defaultValue: nil) {

      var processedValue = $0
      processedValue?.strings.append("blank!")
      return processedValue
    }

    store.set(CustomValue, value: customObject)
    #expect(store.get(CustomValue)?.strings.joined(separator: " ") == "fill in the blank!")
  }

  @Test func aKeyOfOnesOwn() {
    let name = "notified-" + UUID().uuidString
    let key = MyKey<GlobalNamespace, Int>(stringValue: name, defaultValue: 0)
    let count = Guarded(0)
    let observer = NotificationCenter.default.addObserver(forName: Notification.Name(name), object: nil, queue: nil) {
      _ in
      count { $0 += 1 }
    }
    suite.store.set(key, value: 1)
    CacheStore().set(key, value: 1)
    #expect(count.current == 2)
    NotificationCenter.default.removeObserver(observer)
  }
}
