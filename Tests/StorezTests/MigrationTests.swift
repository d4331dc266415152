import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

struct MigrationTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  @Test func theOldValueIsMovedWithAllHooks() {
    let recorder = Recorder()
    Recorder.$current.withValue(recorder) {
      let key = RecordingKey(stringValue: "new", defaultValue: 0)
      store.defaults.set("12", forKey: "old")
      let migration = UserDefaultsStore.Migration(to: key, from: "old") { ($0 as? String).flatMap { Int($0) } }
      store.migrate([migration])
      #expect(store.get(key) == 12)
      #expect(store.defaults.object(forKey: "old") == nil)
      #expect(recorder.taken == ["process 0 12", "will 0 12 ", "pre", "post", "did 0 12 "])
      // A second migration does nothing.
      store.migrate([migration])
      #expect(recorder.taken == [])
    }
  }

  @Test func aNewerValueIsNotOverwritten() {
    store.defaults.set("old", forKey: "old")
    store.set(Weather.city, value: "new")
    store.migrate([UserDefaultsStore.Migration(to: Weather.city, from: "old") { $0 as? String }])
    #expect(store.get(Weather.city) == "new")
    #expect(store.defaults.string(forKey: "old") == "old")
  }

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

  @Test(arguments: Moment.allCases) func whatIsStoredMeanwhileIsNewer(_ moment: Moment) throws {
    let store = store
    store.defaults.set("old", forKey: "old")
    let notes = migrating(at: moment) {
      store.defaults.set("newer", forKey: "new")
    } _: { key, other in
      let migration = UserDefaultsStore.Migration(to: key, from: "old") { _ in
        other()
        return "migrated"
      }
      #expect(throws: Never.self) { try store.throwing { $0.migrate([migration]) } }
    }
    #expect(notes == (moment == .closure ? [] : ["process  migrated", "will  migrated ", "pre"]))
    #expect(store.defaults.string(forKey: "new") == "newer")
    #expect(store.defaults.string(forKey: "old") == "old")
  }

  @Test(arguments: Moment.allCases) func whatIsStoredInACacheMeanwhileIsNewer(_ moment: Moment) throws {
    let temporary = try TemporaryCache()
    let (cache, store) = (temporary.cache, temporary.store)
    try cache.set(7, forKey: "old")
    let notes = migrating(at: moment) {
      do { try cache.set("newer", forKey: "new") } catch { Issue.record(error) }
    } _: { key, other in
      let migration = LMDBStore.Migration(to: key, from: "old", as: Int.self) { number in
        other()
        return "\(number)"
      }
      #expect(throws: Never.self) { try store.throwing { $0.migrate([migration]) } }
    }
    #expect(notes == (moment == .closure ? [] : ["process  7", "will  7 ", "pre"]))
    #expect(try cache.value(String.self, forKey: "new") == "newer")
    #expect(try cache.value(Int.self, forKey: "old") == 7)
  }

  /// A newer value under the old name is neither replaced nor removed.
  @Test(arguments: Moment.allCases) func anOldValueThatIsWrittenMeanwhileStays(_ moment: Moment) throws {
    let temporary = try TemporaryCache()
    let (cache, store) = (temporary.cache, temporary.store)
    let write: @Sendable () -> Void = {
      do { try cache.set(8, forKey: "old") } catch { Issue.record(error) }
    }
    try cache.set(7, forKey: "old")
    _ = migrating(at: moment, store: write) { key, other in
      store.migrate([
        LMDBStore.Migration(to: key, from: "old", as: Int.self) { number in
          other()
          return "\(number)"
        }
      ])
    }
    #expect(try cache.value(String.self, forKey: "new") == "7")
    #expect(try cache.value(Int.self, forKey: "old") == 8)
    try cache.set(7, forKey: "new")
    let rewrite: @Sendable () -> Void = {
      do { try cache.set(8, forKey: "new") } catch { Issue.record(error) }
    }
    let notes = migrating(at: moment, store: rewrite) { key, other in
      store.migrate([
        LMDBStore.Migration(to: key, from: "new", as: Int.self) { number in
          other()
          return "\(number)"
        }
      ])
    }
    #expect(!notes.contains("post"))
    #expect(try cache.value(Int.self, forKey: "new") == 8)
  }

  @Test(arguments: Moment.allCases) func whatCanBeReadMeanwhileIsNotReplaced(_ moment: Moment) throws {
    let store = store
    store.defaults.set(5, forKey: "new")
    let notes = migrating(at: moment) {
      store.defaults.set("newer", forKey: "new")
    } _: { key, other in
      let migration = UserDefaultsStore.Migration(to: key, from: "new") { _ in
        other()
        return "migrated"
      }
      store.migrate([migration])
    }
    #expect(!notes.contains("post"))
    #expect(store.defaults.string(forKey: "new") == "newer")
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

  @Test func entriesOfACacheAreMoved() throws {
    let temporary = try TemporaryCache()
    let (cache, store) = (temporary.cache, temporary.store)
    try cache.set(7, forKey: "old")
    let recorder = Recorder()
    try Recorder.$current.withValue(recorder) {
      let key = RecordingKey(stringValue: "new", defaultValue: "")
      let migration = LMDBStore.Migration(to: key, from: "old", as: Int.self) { String($0) }
      store.migrate([migration])
      #expect(store.get(key) == "7")
      #expect(try !cache.contains("old"))
      #expect(recorder.taken == ["process  7", "will  7 ", "pre", "post", "did  7 "])
      try cache.set(8, forKey: "old")
      store.migrate([migration])
      #expect(store.get(key) == "7")
      #expect(try cache.contains("old"))
      #expect(recorder.taken == [])
    }
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
