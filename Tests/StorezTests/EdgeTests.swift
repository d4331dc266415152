import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

/// Unreadable old values, nested optionals, names.
struct EdgeTests {
  private let suite = TemporarySuite()
  private let temporary: TemporaryCache

  init() throws { temporary = try TemporaryCache() }

  @Test func settingReplacesWhatCannotBeRead() throws {
    let failures = Guarded<[StorezFailure]>([])
    let defaults = suite.store
    defaults.onFailure = { failure in failures { $0.append(failure) } }
    defaults.defaults.set("text", forKey: Weather.temperature.stringValue)
    try defaults.throwing { $0.set(Weather.temperature, value: 21) }
    #expect(try defaults.throwing { $0.get(Weather.temperature) } == 21)
    let cached = temporary.store
    cached.onFailure = { failure in failures { $0.append(failure) } }
    try cached.cache.set("text", forKey: Weather.temperature.stringValue)
    try cached.throwing { $0.set(Weather.temperature, value: 21) }
    #expect(try cached.throwing { $0.get(Weather.temperature) } == 21)
    // The handler receives the loss.
    #expect(failures.current.map(\.code) == [.decoding, .decoding])
  }

  /// A replaced value may hold the last reference to its owner, which clears the handler in its deinit.
  @Test func anOwnerMaySetTheHandlerAsItGoes() {
    let store = CacheStore()
    let isGone = Guarded(false)
    do {
      let owner = LastWish {
        store.onFailure = nil
        isGone { $0 = true }
      }
      store.onFailure = { _ in withExtendedLifetime(owner) {} }
    }
    store.onFailure = nil
    #expect(isGone.current)
  }

  @Test func innerNilsAreKeptOrReported() throws {
    let key = Key<Animals, Int??>(id: "nested", defaultValue: .some(.some(9)))
    let memory = CacheStore()
    for value in [Int??.some(.some(1)), .some(.none), .none] {
      memory.set(key, value: value)
      #expect(memory.get(key) == (value == .none ? .some(.some(9)) : value))
    }
    let defaults = suite.store
    defaults.set(key, value: .some(.some(1)))
    var error = #expect(throws: StorezFailure.self) { try defaults.throwing { $0.set(key, value: .some(.none)) } }
    #expect(error?.code == .encoding && defaults.get(key) == .some(.some(1)))
    let cached = temporary.store
    cached.set(key, value: .some(.some(1)))
    error = #expect(throws: StorezFailure.self) { try cached.throwing { $0.set(key, value: .some(.none)) } }
    #expect(error?.code == .encoding && cached.get(key) == .some(.some(1)))
    cached.set(key, value: .none)
    #expect(cached.get(key) == .some(.some(9)))
  }

  @Test func nilsInADictionary() throws {
    let key = Key<Animals, [String: Int?]>(id: "entries", defaultValue: [:])
    let value: [String: Int?] = ["a": 1, "b": nil]
    let memory = CacheStore()
    memory.set(key, value: value)
    #expect(memory.get(key) == value)
    suite.store.set(key, value: value)
    #expect(suite.store.get(key) == value)
    temporary.store.set(key, value: value)
    #expect(temporary.store.get(key) == value)
    try temporary.cache.flush()
    temporary.cache.memory.removeAll()
    #expect(temporary.store.get(key) == value)
  }

  @Test func namesAreBytes() throws {
    let composed = Key<Animals, Int>(id: "caf\u{e9}", defaultValue: 0)
    let decomposed = Key<Animals, Int>(id: "cafe\u{301}", defaultValue: 0)
    let memory = CacheStore()
    memory.set(composed, value: 1)
    memory.set(decomposed, value: 2)
    #expect(memory.get(composed) == 1 && memory.get(decomposed) == 2)
    let store = temporary.store
    store.set(composed, value: 1)
    store.set(decomposed, value: 2)
    #expect(store.get(composed) == 1 && store.get(decomposed) == 2)
    // Not equal here: the names are two entries.
    store.set(decomposed, value: 3)
    try store.cache.removeValue(forKey: composed)
    store.migrate([.init(to: composed, from: decomposed.stringValue, as: Int.self) { $0 + 1 }])
    #expect(try store.get(composed) == 4 && !store.cache.contains(decomposed))
    // Each is reported once.
    let failures = Guarded<[StorezFailure]>([])
    store.onFailure = { failure in failures { $0.append(failure) } }
    for key in [composed, decomposed] {
      try store.cache.set("text", forKey: key.stringValue)
      for _ in 0..<2 { _ = store.get(key) }
    }
    #expect(failures.current.count == 2)
  }

  @Test func theNameOfTheListIsReserved() throws {
    let store = UserDefaultsStore(suite: nil)
    let other = Key<GlobalNamespace, Int>(id: "edge-test-\(UUID())", defaultValue: 0)
    store.set(other, value: 1)
    let list = UserDefaults.standard.stringArray(forKey: "storez.keys")
    #expect(list?.contains(other.stringValue) == true)
    let key = Key<GlobalNamespace, String>(id: "storez.keys", defaultValue: "default")
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.set(key, value: "text") } }
    #expect(error?.code == .encoding && error?.description.contains("Use another name") == true)
    #expect(throws: StorezFailure.self) { try store.throwing { $0.get(key) } }
    store.migrate([.init(to: other, from: "storez.keys") { _ in 2 }])
    #expect(UserDefaults.standard.stringArray(forKey: "storez.keys") == list)
    #expect(store.get(other) == 1)
    UserDefaults.standard.removeObject(forKey: other.stringValue)
    // A suite has no such list.
    suite.store.set(key, value: "text")
    #expect(suite.store.get(key) == "text")
  }

  /// Storing the new value and removing the old one is atomic, so there is nothing to repeat.
  @Test func aMigrationIsOneStep() throws {
    let store = temporary.store
    try store.cache.set(7, forKey: "old")
    let changes = Guarded<[Int]>([])
    struct Watching: KeyType, Sendable {
      typealias NamespaceType = Animals
      let stringValue = "animals:new"
      let defaultValue = 0
      let note: @Sendable () -> Void
      func didChange(_ oldValue: Int, newValue: Int) { note() }
    }
    let cache = store.cache
    let key = Watching { changes { $0.append(cache.containsObject(forKey: "old") ? 1 : 0) } }
    store.migrate([.init(to: key, from: "old", as: Int.self) { $0 }])
    #expect(changes.current == [0])
    // A removed value does not come back.
    store.set(key, value: 8)
    try cache.removeValue(forKey: key)
    store.migrate([.init(to: key, from: "old", as: Int.self) { $0 }])
    #expect(store.get(key) == 0)

    suite.store.defaults.set(7, forKey: "old")
    let defaults = suite.store.defaults
    nonisolated(unsafe) let shared = defaults
    changes { $0 = [] }
    let plain = Watching { changes { $0.append(shared.object(forKey: "old") == nil ? 0 : 1) } }
    suite.store.migrate([.init(to: plain, from: "old") { $0 as? Int }])
    #expect(changes.current == [0] && suite.store.get(plain) == 7)
  }
}
