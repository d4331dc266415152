import Foundation
import LMDBCaching
import Storez
import Testing

struct MigrationTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  /// Where a write happens during a migration.
  enum Moment: CaseIterable { case closure, processChange, willChange }

  /// Migrates with a key and a closure that write at a moment. Returns the recorded hook calls.
  private func migrating(
    at moment: Moment, write: @escaping @Sendable () -> Void,
    _ migrate: (RecordingKey<String>, @escaping @Sendable () -> Void) -> Void
  ) -> [String] {
    var key = RecordingKey(stringValue: "new", defaultValue: "")
    if moment == .processChange { key.process = { (write(), $0).1 } }
    if moment == .willChange { key.read = { (write(), "").1 } }
    let recorder = Recorder()
    Recorder.$current.withValue(recorder) { migrate(key) { if moment == .closure { write() } } }
    return recorder.taken
  }

  enum Kind: CaseIterable { case defaults, cache }

  /// A store with the raw values under names.
  private struct Place: Sendable {
    let setText: @Sendable (String, String) throws -> Void
    let setNumber: @Sendable (Int, String) throws -> Void
    let text: @Sendable (String) throws -> String?
    let number: @Sendable (String) throws -> Int?
    /// Migrates a number to a text; calls the closure before it is converted.
    let migrate: @Sendable (RecordingKey<String>, String, @escaping @Sendable () -> Void) throws -> Void
  }

  private func place(_ kind: Kind) throws -> Place {
    if kind == .cache {
      let temporary = try TemporaryCache()
      let cache = temporary.cache
      return Place(
        setText: { try cache.set($0, forKey: $1) }, setNumber: { try cache.set($0, forKey: $1) },
        text: { try cache.value(String.self, forKey: $0) }, number: { try cache.value(Int.self, forKey: $0) },
        migrate: { key, old, other in
          let migration = LMDBStore.Migration(to: key, from: old, as: Int.self) { number in
            other()
            return "\(number)"
          }
          try temporary.store.throwing { $0.migrate([migration]) }
        })
    }
    let store = store
    return Place(
      setText: { store.defaults.set($0, forKey: $1) }, setNumber: { store.defaults.set($0, forKey: $1) },
      text: { store.get(Key<GlobalNamespace, String?>(id: $0, defaultValue: nil)) },
      number: { store.defaults.object(forKey: $0) as? Int },
      migrate: { key, old, other in
        let migration = UserDefaultsStore.Migration(to: key, from: old) { value in
          other()
          return (value as? Int).map { "\($0)" }
        }
        try store.throwing { $0.migrate([migration]) }
      })
  }

  @Test(arguments: Kind.allCases) func anOldValueIsMovedWithAllHooks(_ kind: Kind) throws {
    let place = try place(kind)
    let recorder = Recorder()
    try Recorder.$current.withValue(recorder) {
      var key = RecordingKey(stringValue: "new", defaultValue: "")
      // Storing the new value and removing the old one is one step.
      key.read = { (try? place.number("old")) == nil ? "gone" : "there" }
      try place.setNumber(7, "old")
      try place.migrate(key, "old") {}
      #expect(try place.text("new") == "7" && place.number("old") == nil)
      #expect(recorder.taken == ["process  7", "will  7 there", "pre", "post", "did  7 gone"])
      // A newer value is not overwritten.
      try place.setNumber(8, "old")
      try place.migrate(key, "old") {}
      #expect(try place.text("new") == "7" && place.number("old") == 8)
      #expect(recorder.taken == [])
    }
  }

  @Test(arguments: Kind.allCases, Moment.allCases)
  func aValueThatIsStoredDuringAMigrationIsNewer(_ kind: Kind, _ moment: Moment) throws {
    let place = try place(kind)
    let write: @Sendable () -> Void = {
      do { try place.setText("newer", "new") } catch { Issue.record(error) }
    }
    try place.setNumber(7, "old")
    let notes = migrating(at: moment, write: write) { key, other in
      #expect(throws: Never.self) { try place.migrate(key, "old", other) }
    }
    #expect(notes == (moment == .closure ? [] : ["process  7", "will  7 ", "pre"]))
    #expect(try place.text("new") == "newer" && place.number("old") == 7)
    // In place, over a value of another type.
    try place.setNumber(7, "new")
    let others = migrating(at: moment, write: write) { key, other in try? place.migrate(key, "new", other) }
    #expect(!others.contains("post"))
    #expect(try place.text("new") == "newer")
  }

  /// A newer value under the old name is neither replaced nor removed.
  @Test(arguments: Moment.allCases) func anOldValueThatIsWrittenDuringAMigrationStays(_ moment: Moment) throws {
    let place = try place(.cache)
    for new in ["new", "old"] {
      try place.setNumber(7, "old")
      let notes = migrating(at: moment) {
        do { try place.setNumber(8, "old") } catch { Issue.record(error) }
      } _: { key, other in
        var key = key
        key.stringValue = new
        try? place.migrate(key, "old", other)
      }
      #expect(try place.number("old") == 8)
      if new == "new" { #expect(try place.text("new") == "7") } else { #expect(!notes.contains("post")) }
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
