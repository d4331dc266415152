import Foundation
import LMDBCaching
import Storez
import Testing

/// Names and nested optionals.
struct EdgeTests {
  private let suite = TemporarySuite()
  private let temporary: TemporaryCache

  init() throws { temporary = try TemporaryCache() }

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
