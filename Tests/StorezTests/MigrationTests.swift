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
      // Again: there is nothing to do.
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
    // It can be read now.
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
      #expect(!cache.contains("old"))
      #expect(recorder.taken == ["process  7", "will  7 ", "pre", "post", "did  7 "])
      try cache.set(8, forKey: "old")
      store.migrate([migration])
      #expect(store.get(key) == "7")
      #expect(cache.contains("old"))
      #expect(recorder.taken == [])
    }
    let words = Key<Weather, Words?>(id: "words", defaultValue: nil)
    store.migrate([.init(to: words, from: "old", as: Int.self) { Words("number", String($0)) }])
    #expect(store.get(words) == Words("number", "8"))
    let date = Key<Weather, NSDate?>(id: "date", defaultValue: nil)
    try cache.set(9, forKey: "old")
    store.migrate([.init(to: date, from: "old", as: Int.self) { NSDate(timeIntervalSinceReferenceDate: Double($0)) }])
    #expect(store.get(date) == NSDate(timeIntervalSinceReferenceDate: 9))
    // One that is no number stays.
    try cache.set("text", forKey: "old")
    let city = LMDBStore.Migration(to: Weather.city, from: "old", as: Int.self) { String($0) }
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.migrate([city]) } }
    #expect(error?.code == .storage)
    #expect(try cache.value(String.self, forKey: "old") == "text")
    #expect(store.get(Weather.city) == nil)
  }
}
