import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

struct MigrationTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  /// Where a write happens during a migration.
  enum Moment: CaseIterable { case closure, processChange, willChange }

  /// A key and a closure that write at a given moment. Returns the recorded hook calls.
  private func migrating(
    at moment: Moment, store other: @escaping @Sendable () -> Void,
    _ migrate: (RecordingKey<String>, @escaping @Sendable () -> Void) -> Void
  ) -> [String] {
    let recorder = Recorder()
    Recorder.$current.withValue(recorder) {
      var key = RecordingKey(stringValue: "new", defaultValue: "")
      if moment == .processChange {
        key.process = { value in
          other()
          return value
        }
      }
      if moment == .willChange {
        key.read = {
          other()
          return ""
        }
      }
      migrate(key) { if moment == .closure { other() } }
    }
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
    let store: @Sendable () -> Void = {
      do { try place.setText("newer", "new") } catch { Issue.record(error) }
    }
    try place.setNumber(7, "old")
    let notes = migrating(at: moment, store: store) { key, other in
      #expect(throws: Never.self) { try place.migrate(key, "old", other) }
    }
    #expect(notes == (moment == .closure ? [] : ["process  7", "will  7 ", "pre"]))
    #expect(try place.text("new") == "newer" && place.number("old") == 7)
    // In place, over a value of another type.
    try place.setNumber(7, "new")
    let others = migrating(at: moment, store: store) { key, other in try? place.migrate(key, "new", other) }
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

  @Test func aNilIsNoValueOverANewerOne() {
    let store = store
    store.defaults.set("old", forKey: "old")
    let nothing = UserDefaultsStore.Migration(to: Weather.city, from: "old") { _ in
      store.defaults.set("newer", forKey: "weather:city")
      return .some(nil)
    }
    store.migrate([nothing])
    #expect(store.get(Weather.city) == "newer")
    #expect(store.defaults.string(forKey: "old") == "old")
    store.set(Weather.city, value: nil)
    store.migrate([UserDefaultsStore.Migration(to: Weather.city, from: "old") { _ in .some(nil) }])
    #expect(store.get(Weather.city) == nil)
    #expect(store.defaults.object(forKey: "old") == nil)
  }

  @Test func whatIsSkippedOrFailsStays() throws {
    store.defaults.set("old", forKey: "old")
    store.migrate([UserDefaultsStore.Migration(to: Weather.city, from: "old") { _ in nil }])
    #expect(store.defaults.string(forKey: "old") == "old")
    #expect(store.get(Weather.city) == nil)
    let words = Key<Weather, Words?>(id: "words", defaultValue: nil)
    let error = #expect(throws: StorezFailure.self) {
      try store.throwing { $0.migrate([.init(to: words, from: "old") { _ in Words("with;semicolon") }]) }
    }
    #expect(error?.code == .encoding)
    #expect(store.defaults.string(forKey: "old") == "old")
    store.migrate([UserDefaultsStore.Migration(to: words, from: "old") { ($0 as? String).map { Words($0) } }])
    #expect(store.get(words) == Words("old"))
  }

  @Test func anObjectAndAnInPlaceMigration() {
    store.defaults.set("text", forKey: "weather:object")
    let object = Key<Weather, NSDate?>(id: "object", defaultValue: nil)
    let migration = UserDefaultsStore.Migration(to: object, from: "weather:object") { _ in
      NSDate(timeIntervalSinceReferenceDate: 1)
    }
    #expect(throws: Never.self) { try store.throwing { $0.migrate([migration]) } }
    #expect(store.get(object) == NSDate(timeIntervalSinceReferenceDate: 1))
    // It is readable now.
    store.set(object, value: NSDate(timeIntervalSinceReferenceDate: 2))
    store.migrate([migration])
    #expect(store.get(object) == NSDate(timeIntervalSinceReferenceDate: 2))
  }

  @Test func otherTypesOfACache() throws {
    let temporary = try TemporaryCache()
    let (cache, store) = (temporary.cache, temporary.store)
    try cache.set(8, forKey: "old")
    let words = Key<Weather, Words?>(id: "words", defaultValue: nil)
    store.migrate([.init(to: words, from: "old", as: Int.self) { Words("number", String($0)) }])
    #expect(store.get(words) == Words("number", "8"))
    let date = Key<Weather, NSDate?>(id: "date", defaultValue: nil)
    try cache.set(9, forKey: "old")
    store.migrate([.init(to: date, from: "old", as: Int.self) { NSDate(timeIntervalSinceReferenceDate: Double($0)) }])
    #expect(store.get(date) == NSDate(timeIntervalSinceReferenceDate: 9))
    // A value that is not a number stays.
    try cache.set("text", forKey: "old")
    let city = LMDBStore.Migration(to: Weather.city, from: "old", as: Int.self) { String($0) }
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.migrate([city]) } }
    #expect(error?.code == .storage)
    #expect(try cache.value(String.self, forKey: "old") == "text")
    #expect(store.get(Weather.city) == nil)
  }

  #if !canImport(Darwin)
    /// A text that runs a hook during its decoding.
    struct HookedText: Codable, Sendable {
      static let whileDecoding = Guarded<(@Sendable () -> Void)?>(nil)

      var text: String

      init(_ text: String) { self.text = text }

      init(from decoder: any Decoder) throws {
        Self.whileDecoding.current?()
        text = try decoder.singleValueContainer().decode(String.self)
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
      }
    }

    /// Decoding may open other defaults, and wait for their openers or writers, so no lock that those need is held.
    @Test func otherDefaultsAreOpenedWhileTheOldValueIsRead() throws {
      let configuration = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? NSHomeDirectory() + "/.config"
      try FileManager.default.createDirectory(atPath: configuration, withIntermediateDirectories: true)
      let (areOpened, suites) = (Guarded<[Bool]>([]), Guarded<[String]>([]))
      defer {
        for suite in suites.current {
          for name in ["\(suite).plist", ".\(suite).plist.copy"] {
            try? FileManager.default.removeItem(atPath: "\(configuration)/\(name)")
          }
        }
      }
      HookedText.whileDecoding { hook in
        hook = {
          let suite = "storez-test-" + UUID().uuidString
          suites { $0.append(suite) }
          // Opening a damaged file takes the same path as writing one.
          let isThere = FileManager.default.createFile(atPath: "\(configuration)/\(suite).plist", contents: Data())
          let isOpened = finishes { _ = UserDefaultsStore(suite: suite) }
          areOpened { $0.append(isThere && isOpened) }
        }
      }
      let key = Key<Weather, HookedText>(id: "hooked", defaultValue: HookedText(""))
      store.defaults.set(Data("[7]".utf8), forKey: key.stringValue)
      store.migrate([UserDefaultsStore.Migration(to: key, from: key.stringValue) { _ in HookedText("seven") }])
      HookedText.whileDecoding { $0 = nil }
      // Before the closure, after it, and before the write.
      #expect(areOpened.current.count > 2 && areOpened.current.allSatisfy { $0 })
      #expect(store.get(key).text == "seven")
    }
  #endif
}
