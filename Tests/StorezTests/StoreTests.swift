import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

struct StoreTests {
  @Test(arguments: try AnyStore.makeAll()) func valuesOfEachKindComeBack(_ store: AnyStore) {
    let nullable = Key<Animals, String?>(id: "nullable", defaultValue: nil)
    #expect(store.getOptional(nullable) == nil)
    store.setOptional(nullable, "")
    #expect(store.getOptional(nullable) == "")
    store.setOptional(nullable, nil)
    #expect(store.getOptional(nullable) == nil)
    let withDefault = Key<Animals, String?>(id: "nullable", defaultValue: "default")
    #expect(store.getOptional(withDefault) == "default")
    let nonnull = Key<Animals, Int>(id: "nonnull", defaultValue: 7)
    #expect(store.getCount(nonnull) == 7)
    store.setCount(nonnull, 8)
    #expect(store.getCount(nonnull) == 8)
    let converted = Key<Animals, Words>(id: "words", defaultValue: Words("none"))
    #expect(store.getWords(converted) == Words("none"))
    store.setWords(converted, Words("fill", "in"))
    #expect(store.getWords(converted) == Words("fill", "in"))
  }

  @Test(arguments: try AnyStore.makeAll()) func theChangeBlockMakesWhatIsStored(_ store: AnyStore) {
    let key = Key<Animals, String?>(id: "block", defaultValue: nil) { [$0, "Heisenberg"].compactMap(\.self).joined() }
    store.setOptional(key, "say ")
    #expect(store.getOptional(key) == "say Heisenberg")
    let forgetting = Key<Animals, String?>(id: "block", defaultValue: nil) { _ in nil }
    store.setOptional(forgetting, "something")
    #expect(store.getOptional(key) == nil)
  }

  @Test(arguments: try AnyStore.makeAll()) func hooksAreCalledInOrder(_ store: AnyStore) {
    let recorder = Recorder()
    Recorder.$current.withValue(recorder) {
      var key = RecordingKey(stringValue: "animals:recorded:text", defaultValue: "default")
      let plain = key
      key.read = { "(\(store.getText(plain)))" }
      key.process = { $0.uppercased() }
      store.setText(key, "one")
      #expect(
        recorder.taken == [
          "process default one", "will default ONE (default)", "pre", "post", "did default ONE (ONE)",
        ])
      store.setText(key, "two")
      #expect(recorder.taken == ["process ONE two", "will ONE TWO (ONE)", "pre", "post", "did ONE TWO (TWO)"])
      // A hook may set another value.
      key.process = { value in
        store.setCount(Animals.count, value.count)
        return value
      }
      let setting = key
      #expect(finishes { store.setText(setting, "four") })
      #expect(store.getCount(Animals.count) == 4)
    }
  }

  @Test(arguments: try AnyStore.makeAll()) func whatCannotBeEncodedLeavesTheOldValue(_ store: AnyStore) throws {
    let failures = Guarded<[StorezFailure]>([])
    store.observe { failure in failures { $0.append(failure) } }
    let key = Key<Animals, Words>(id: "words", defaultValue: Words("none"))
    for words in [Words("old"), Words("with;semicolon")] { store.setWords(key, words) }
    #expect(failures.current.map(\.code) == [.encoding])
    #expect(failures.current.allSatisfy { $0.key == "animals:words" && $0.message.contains("stays") })
    let error = #expect(throws: StorezFailure.self) {
      try store.store.throwing { _ in store.setWords(key, Words("with;semicolon")) }
    }
    #expect(error?.code == .encoding && failures.current.count == 1 && store.getWords(key) == Words("old"))
  }

  @Test(arguments: try AnyStore.makeAll()) func whatCannotBeReadIsKeptAndReported(_ store: AnyStore) {
    let failures = Guarded<[StorezFailure]>([])
    store.observe { failure in failures { $0.append(failure) } }
    let text = Key<Animals, String?>(id: "text", defaultValue: nil)
    let number = Key<Animals, Int>(id: "text", defaultValue: 5)
    store.setOptional(text, "no number")
    for _ in 0..<3 { #expect(store.getCount(number) == 5) }
    // Reported once, until it is set.
    #expect(failures.current.map(\.code) == [.decoding])
    #expect(failures.current.first?.key == "animals:text")
    #expect(store.getOptional(text) == "no number")
    let error = #expect(throws: StorezFailure.self) { try store.store.throwing { _ in store.getCount(number) } }
    #expect(error?.code == .decoding)
    // Setting replaces it, as the message says.
    store.setCount(number, 6)
    #expect(store.getCount(number) == 6)
    store.setOptional(text, "again")
    #expect(store.getCount(number) == 5)
    #expect(failures.current.count > 1)
  }

  @Test(arguments: try AnyStore.makeAll()) func clearingRemovesEverything(_ store: AnyStore) {
    store.setCount(Animals.count, 3)
    store.setOptional(Animals.name, "name")
    store.store.clear()
    #expect(store.getCount(Animals.count) == 0 && store.getOptional(Animals.name) == nil)
    store.setCount(Animals.count, 4)
    #expect(store.getCount(Animals.count) == 4)
  }

  /// Namespaces that are nested in themselves.
  private enum Hen: Namespace {
    typealias parent = Egg
    static let id = "hen"
  }

  private enum Egg: Namespace {
    typealias parent = Hen
    static let id = "egg"
  }

  private enum Nameless: Namespace {
    typealias parent = Kittens
    static let id = ""
  }

  private enum Deep: Namespace {
    typealias parent = Nameless
    static let id = "deep"
  }

  @Test func everyLevelIsInTheName() {
    #expect(GlobalNamespace.key == "" && GlobalNamespace.prefix == "" && Animals.key == "animals")
    #expect(Kittens.key == "animals:cats:kittens" && Kittens.prefix == "animals:cats:kittens:")
    #expect(Deep.key == "animals:cats:kittens:deep" && Hen.key == "egg:hen" && Egg.key == "hen:egg")
    #expect(Kittens.tom.stringValue == "animals:cats:kittens:tom")
    var key = Cats.lion
    key.id = "tiger"
    #expect(key.stringValue == "animals:cats:tiger")
    func wrapped<N: Nullable>(_ value: N) -> N.UnderlyingType? { value.wrappedValue }
    #expect(wrapped(Int?.some(3)) == 3 && wrapped(Int?.none) == nil)
  }

  @Test func innerNilsAreKeptOrReported() throws {
    let key = Key<Animals, Int??>(id: "nested", defaultValue: .some(.some(9)))
    let (suite, temporary) = (TemporarySuite(), try TemporaryCache())
    let (memory, defaults, cached) = (CacheStore(), suite.store, temporary.store)
    for value in [Int??.some(.some(1)), .some(.none), .none] {
      memory.set(key, value: value)
      #expect(memory.get(key) == (value == .none ? .some(.some(9)) : value))
    }
    defaults.set(key, value: .some(.some(1)))
    var error = #expect(throws: StorezFailure.self) { try defaults.throwing { $0.set(key, value: .some(.none)) } }
    #expect(error?.code == .encoding && defaults.get(key) == .some(.some(1)))
    cached.set(key, value: .some(.some(1)))
    error = #expect(throws: StorezFailure.self) { try cached.throwing { $0.set(key, value: .some(.none)) } }
    #expect(error?.code == .encoding && cached.get(key) == .some(.some(1)))
    cached.set(key, value: .none)
    #expect(cached.get(key) == .some(.some(9)))
    let entries = Key<Animals, [String: Int?]>(id: "entries", defaultValue: [:])
    let value: [String: Int?] = ["a": 1, "b": nil]
    defaults.set(entries, value: value)
    cached.set(entries, value: value)
    try temporary.cache.flush()
    temporary.cache.memory.removeAll()
    #expect(defaults.get(entries) == value && cached.get(entries) == value)
  }
}
