import Storez
import Testing

struct NamespaceTests {
  enum Nameless: Namespace {
    typealias parent = Kittens
    static let id = ""
  }

  enum Deep: Namespace {
    typealias parent = Nameless
    static let id = "deep"
  }

  enum Hen: Namespace {
    typealias parent = Egg
    static let id = "hen"
  }

  enum Egg: Namespace {
    typealias parent = Hen
    static let id = "egg"
  }

  @Test func everyLevelIsInTheName() {
    #expect(GlobalNamespace.key == "")
    #expect(GlobalNamespace.prefix == "")
    #expect(Animals.key == "animals")
    #expect(Cats.key == "animals:cats")
    #expect(Kittens.key == "animals:cats:kittens")
    #expect(Kittens.prefix == "animals:cats:kittens:")
    #expect(Deep.key == "animals:cats:kittens:deep")
    #expect(Kittens.tom.stringValue == "animals:cats:kittens:tom")
    #expect(Key<GlobalNamespace, Int?>(id: "key", defaultValue: nil).stringValue == "key")
    // Namespaces that are nested in themselves.
    #expect(Hen.key == "egg:hen" && Egg.key == "hen:egg")
    var key = Cats.lion
    key.id = "tiger"
    #expect(key.stringValue == "animals:cats:tiger")
    func wrapped<N: Nullable>(_ value: N) -> N.UnderlyingType? { value.wrappedValue }
    #expect(wrapped(Int?.some(3)) == 3 && wrapped(Int?.none) == nil)
  }

  /// Every hook has a default.
  @Test func aKeyNeedsNoHooks() {
    struct Plain: KeyType {
      typealias NamespaceType = GlobalNamespace
      typealias ValueType = Int
      var stringValue: String { "key" }
      var defaultValue: Int { 0 }
    }
    let store = CacheStore()
    store.set(Plain(), value: 1)
    #expect(store.get(Plain()) == 1)
  }
}
