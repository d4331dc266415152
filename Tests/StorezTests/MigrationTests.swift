import Foundation
import LMDBCaching
import Storez
import Testing

struct MigrationTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  private static let oldNumber = Key<Animals, Int>(id: "old", defaultValue: 0)
  private static let newNumber = Key<Animals, Int>(id: "new", defaultValue: 0)
  private static let newText = Key<Animals, String?>(id: "new", defaultValue: nil)

  /// Migrates a number to a text. Calls `body` before it is converted.
  private func migrate(
    _ store: AnyStore, to key: RecordingKey<String>, from name: String = "animals:old",
    _ body: @escaping @Sendable () -> Void = {}
  ) throws {
    if let defaults = store.store as? UserDefaultsStore {
      let migration = UserDefaultsStore.Migration(to: key, from: name) { value in
        body()
        // Stored as JSON: "[7]".
        return (value as? Data).map { String(decoding: $0, as: UTF8.self).filter(\.isNumber) }
      }
      try defaults.throwing { $0.migrate([migration]) }
    } else if let cached = store.store as? LMDBStore {
      let migration = LMDBStore.Migration(to: key, from: name, as: Int.self) { number in
        body()
        return "\(number)"
      }
      try cached.throwing { $0.migrate([migration]) }
    }
  }

  @Test(arguments: try AnyStore.makeMigrating()) func anOldValueIsMovedWithAllHooks(_ store: AnyStore) throws {
    let recorder = Recorder()
    try Recorder.$current.withValue(recorder) {
      var key = RecordingKey(stringValue: "animals:new", defaultValue: "")
      // Storing the new value and removing the old one is one step.
      key.read = { store.getCount(Self.oldNumber) == 0 ? "gone" : "there" }
      store.setCount(Self.oldNumber, 7)
      try migrate(store, to: key)
      #expect(store.getOptional(Self.newText) == "7" && store.getCount(Self.oldNumber) == 0)
      #expect(recorder.taken == ["process  7", "will  7 there", "pre", "post", "did  7 gone"])
      // A newer value is not overwritten.
      store.setCount(Self.oldNumber, 8)
      try migrate(store, to: key)
      #expect(store.getOptional(Self.newText) == "7" && store.getCount(Self.oldNumber) == 8)
      #expect(recorder.taken == [])
    }
  }

  /// Where a write happens during a migration.
  enum Moment: CaseIterable { case closure, processChange, willChange }

  /// Migrates while a closure writes at a moment. Returns the recorded hook calls.
  private func migrating(
    _ store: AnyStore, to name: String, from old: String = "animals:old", at moment: Moment,
    write: @escaping @Sendable () -> Void
  ) -> [String] {
    var key = RecordingKey(stringValue: name, defaultValue: "")
    if moment == .processChange { key.process = { (write(), $0).1 } }
    if moment == .willChange { key.read = { (write(), "").1 } }
    let recorder = Recorder()
    // The migration may fail: a hook may find an unreadable value.
    Recorder.$current.withValue(recorder) {
      try? migrate(store, to: key, from: old) { if moment == .closure { write() } }
    }
    return recorder.taken
  }

  @Test(arguments: Moment.allCases) func aValueThatIsStoredDuringAMigrationIsNewer(_ moment: Moment) throws {
    for store in try AnyStore.makeMigrating() {
      store.setCount(Self.oldNumber, 7)
      let write: @Sendable () -> Void = { store.setOptional(Self.newText, "newer") }
      let notes = migrating(store, to: "animals:new", at: moment, write: write)
      #expect(notes == (moment == .closure ? [] : ["process  7", "will  7 ", "pre"]), "\(store)")
      #expect(store.getOptional(Self.newText) == "newer" && store.getCount(Self.oldNumber) == 7, "\(store)")
      // In place, over a value of another type.
      store.setCount(Self.newNumber, 7)
      let others = migrating(store, to: "animals:new", from: "animals:new", at: moment, write: write)
      #expect(!others.contains("post") && store.getOptional(Self.newText) == "newer", "\(store)")
    }
  }

  /// A newer value under the old name is neither replaced nor removed.
  @Test(arguments: Moment.allCases) func anOldValueThatIsWrittenDuringAMigrationStays(_ moment: Moment) throws {
    let store = try AnyStore.lmdb()
    for name in ["animals:new", "animals:old"] {
      store.setCount(Self.oldNumber, 7)
      let notes = migrating(store, to: name, at: moment) { store.setCount(Self.oldNumber, 8) }
      #expect(store.getCount(Self.oldNumber) == 8)
      #expect(name == "animals:new" ? store.getOptional(Self.newText) == "7" : !notes.contains("post"))
    }
  }

  @Test func aNilDoesNotReplaceANewerValue() {
    let store = store
    store.defaults.set("old", forKey: "old")
    store.migrate([
      UserDefaultsStore.Migration(to: Weather.city, from: "old") { _ in
        store.defaults.set("newer", forKey: "weather:city")
        return .some(nil)
      }
    ])
    #expect(store.get(Weather.city) == "newer" && store.defaults.string(forKey: "old") == "old")
    store.set(Weather.city, value: nil)
    store.migrate([UserDefaultsStore.Migration(to: Weather.city, from: "old") { _ in .some(nil) }])
    #expect(store.get(Weather.city) == nil && store.defaults.object(forKey: "old") == nil)
  }

  @Test func whatIsSkippedOrFailsStays() throws {
    let words = Key<Weather, Words?>(id: "words", defaultValue: nil)
    store.defaults.set("old", forKey: "old")
    store.migrate([.init(to: words, from: "old") { _ in nil }])
    #expect(store.defaults.string(forKey: "old") == "old" && store.get(words) == nil)
    var error = #expect(throws: StorezFailure.self) {
      try store.throwing { $0.migrate([.init(to: words, from: "old") { _ in Words("with;semicolon") }]) }
    }
    #expect(error?.code == .encoding && store.defaults.string(forKey: "old") == "old")
    store.migrate([.init(to: words, from: "old") { ($0 as? String).map { Words($0) } }])
    #expect(store.get(words) == Words("old"))
    let temporary = try TemporaryCache()
    try temporary.cache.set("text", forKey: "old")
    let city = LMDBStore.Migration(to: Weather.city, from: "old", as: Int.self) { String($0) }
    error = #expect(throws: StorezFailure.self) { try temporary.store.throwing { $0.migrate([city]) } }
    #expect(error?.code == .storage && temporary.store.get(Weather.city) == nil)
    #expect(try temporary.cache.value(String.self, forKey: "old") == "text")
  }

  @Test func objectsAndConversions() throws {
    let object = Key<Weather, NSDate?>(id: "object", defaultValue: nil)
    let (first, second) = (NSDate(timeIntervalSinceReferenceDate: 1), NSDate(timeIntervalSinceReferenceDate: 2))
    let migration = UserDefaultsStore.Migration(to: object, from: "weather:object") { _ in first }
    store.defaults.set("text", forKey: "weather:object")
    #expect(throws: Never.self) { try store.throwing { $0.migrate([migration]) } }
    #expect(store.get(object) == first)
    // It is readable now, so another migration leaves it.
    store.set(object, value: second)
    store.migrate([migration])
    #expect(store.get(object) == second)
    let temporary = try TemporaryCache()
    let words = Key<Weather, Words?>(id: "words", defaultValue: nil)
    for name in ["number", "date"] { try temporary.cache.set(8, forKey: name) }
    temporary.store.migrate([
      .init(to: words, from: "number", as: Int.self) { Words("number", String($0)) },
      .init(to: object, from: "date", as: Int.self) { _ in first },
    ])
    #expect(temporary.store.get(words) == Words("number", "8") && temporary.store.get(object) == first)
  }
}
