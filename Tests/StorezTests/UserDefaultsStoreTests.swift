import Foundation
import Storez
import TestSupport
import Testing

@Suite(.serialized) struct UserDefaultsStoreTests {
  let suite = TemporarySuite()
  var store: UserDefaultsStore { suite.store }

  struct Test: Codable, Equatable { var x: Int }

  final class Nested: NSObject, NSCoding {
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }

  @Test func codableValues() {
    let test = Key<GlobalNamespace, Test>(id: "codable", defaultValue: Test(x: 0))
    #expect(store.get(test) == Test(x: 0))
    store.set(test, value: Test(x: 9))
    #expect(store.get(test) == Test(x: 9))
    let date = Key<GlobalNamespace, Date?>(id: "date", defaultValue: nil)
    store.set(date, Date(timeIntervalSinceReferenceDate: 0.125))
    #expect(store.get(date) == Date(timeIntervalSinceReferenceDate: 0.125))
    let data = Key<GlobalNamespace, Data>(id: "data", defaultValue: Data())
    store.set(data, value: Data("[\"AAAA\"]".utf8))
    #expect(store.get(data) == Data("[\"AAAA\"]".utf8))
    let numbers = Key<GlobalNamespace, [Double]>(id: "numbers", defaultValue: [])
    store.set(numbers, value: [1.5, .infinity])
    #expect(store.get(numbers) == [1.5, .infinity])
    let nested = Key<GlobalNamespace, [[Int]]>(id: "nested", defaultValue: [[1]])
    store.set(nested, value: [])
    #expect(store.get(nested) == [])
  }

  @Test func objects() {
    let array = Key<GlobalNamespace, NSArray>(id: "array", defaultValue: [1])
    #expect(store.get(array) == [1])
    store.set(array, value: [1, 2, 3] as NSArray)
    #expect(store.get(array) == [1, 2, 3] as NSArray)
    let date = Key<GlobalNamespace, NSDate?>(id: "date", defaultValue: nil)
    store.set(date, value: NSDate(timeIntervalSinceReferenceDate: 500))
    #expect(store.get(date) == NSDate(timeIntervalSinceReferenceDate: 500))
    store.set(date, nil)
    #expect(store.get(date) == nil)
    let uuid = Key<GlobalNamespace, NSUUID?>(id: "uuid", defaultValue: nil)
    let value = NSUUID()
    store.set(uuid, value: value)
    #expect(store.get(uuid) == value)
    let data = Key<GlobalNamespace, NSData?>(id: "data", defaultValue: nil)
    store.set(data, value: NSData(data: Data([1, 2])))
    #expect(store.get(data) == NSData(data: Data([1, 2])))
    // A type of both kinds uses its coder.
    let both = Key<GlobalNamespace, Both?>(id: "both", defaultValue: nil)
    store.set(both, value: Both("text"))
    #expect(store.get(both)?.text == "text")
    #expect((store.defaults.object(forKey: "both") as? Data)?.starts(with: "bplist".utf8) == true)
  }

  @Test func valuesThatWouldNotBeReadBackAreReported() throws {
    let decimals = Key<GlobalNamespace, [Decimal]>(id: "decimals", defaultValue: [])
    let nan = #expect(throws: StorezFailure.self) { try store.throwing { $0.set(decimals, value: [.nan]) } }
    let numbers = Key<GlobalNamespace, NSArray?>(id: "numbers", defaultValue: nil)
    #expect(nan?.code == .encoding)
    let objects = [
      NSDecimalNumber(string: "1.5"), NSError(domain: "d", code: 7), NSString("$null"),
      NSNotification(name: NSNotification.Name("n"), object: nil),
    ]
    for object in objects {
      let inner = #expect(throws: StorezFailure.self) {
        try store.throwing { $0.set(numbers, value: NSArray(array: [object])) }
      }
      #expect(inner?.code == .encoding && "\(inner!)".contains("ObjectCoding.Archiving.cbor"))
    }
    #expect(store.defaults.object(forKey: "decimals") == nil && store.defaults.object(forKey: "numbers") == nil)
  }

  #if !canImport(Darwin)
    /// Foundation's archiver ends the process for it; the cache's own accepts it.
    @Test func aNestedClassIsReportedOrStored() throws {
      let key = Key<GlobalNamespace, Nested?>(id: "nested", defaultValue: nil)
      let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.set(key, value: Nested()) } }
      #expect(error?.code == .encoding)
      let holder = Key<GlobalNamespace, NSArray?>(id: "holder", defaultValue: nil)
      let inner = #expect(throws: StorezFailure.self) {
        try store.throwing { $0.set(holder, value: NSArray(array: [Nested()])) }
      }
      #expect(inner?.code == .encoding)
      #expect(store.defaults.object(forKey: "holder") == nil)
      let temporary = try TemporaryCache()
      try temporary.store.throwing { $0.set(key, value: Nested()) }
      #expect(try temporary.store.throwing { $0.get(key) } != nil)
    }
  #endif

  @Test func whatWasStoredAsObjectsIsReadAsSwiftTypes() {
    store.set(Key<GlobalNamespace, NSNumber>(id: "int", defaultValue: 0), value: NSNumber(value: 3))
    store.set(Key<GlobalNamespace, NSNumber>(id: "double", defaultValue: 0), value: NSNumber(value: 1.25))
    store.set(Key<GlobalNamespace, NSNumber>(id: "bool", defaultValue: 0), value: NSNumber(value: true))
    store.set(Key<GlobalNamespace, NSString>(id: "string", defaultValue: ""), value: NSString("yes"))
    let date = NSDate(timeIntervalSinceReferenceDate: 20)
    store.set(Key<GlobalNamespace, NSDate>(id: "date", defaultValue: date), value: date)
    #expect(store.get(Key<GlobalNamespace, Int>(id: "int", defaultValue: 2)) == 3)
    #expect(store.get(Key<GlobalNamespace, Int?>(id: "int", defaultValue: nil)) == 3)
    #expect(store.get(Key<GlobalNamespace, Double>(id: "double", defaultValue: 2)) == 1.25)
    #expect(store.get(Key<GlobalNamespace, Float>(id: "double", defaultValue: 2)) == 1.25)
    #expect(store.get(Key<GlobalNamespace, Bool>(id: "bool", defaultValue: false)))
    #expect(store.get(Key<GlobalNamespace, String>(id: "string", defaultValue: "no")) == "yes")
    #expect(store.get(Key<GlobalNamespace, String?>(id: "string", defaultValue: nil)) == "yes")
    #expect(
      store.get(Key<GlobalNamespace, Date>(id: "date", defaultValue: Date()))
        == Date(timeIntervalSinceReferenceDate: 20))
  }

  @Test func whatOthersWroteAsItIsIsRead() {
    store.defaults.set(3, forKey: "int")
    store.defaults.set("text", forKey: "string")
    store.defaults.set([1, 2], forKey: "array")
    #expect(store.get(Key<GlobalNamespace, Int>(id: "int", defaultValue: 0)) == 3)
    #expect(store.get(Key<GlobalNamespace, NSNumber?>(id: "int", defaultValue: nil)) == 3)
    #expect(store.get(Key<GlobalNamespace, String?>(id: "string", defaultValue: nil)) == "text")
    #expect(store.get(Key<GlobalNamespace, [Int]>(id: "array", defaultValue: [])) == [1, 2])
  }

  @Test func dataThatOthersWroteAsItIsIsRead() throws {
    let archive = try NSKeyedArchiver.archivedData(withRootObject: NSString("text"), requiringSecureCoding: false)
    for (number, data) in [Data([1, 2]), Data(), Data("[1]".utf8), archive].enumerated() {
      let id = "data\(number)"
      store.defaults.set(data, forKey: id)
      let key = Key<GlobalNamespace, Data>(id: id, defaultValue: Data([9]))
      #expect(try store.throwing { $0.get(key) } == data)
      let optional = Key<GlobalNamespace, Data?>(id: id, defaultValue: nil)
      #expect(try store.throwing { $0.get(optional) } == data)
      let object = Key<GlobalNamespace, NSData?>(id: id, defaultValue: nil)
      #expect(try store.throwing { $0.get(object) } == NSData(data: data))
    }
    // Not data, so not affected.
    let text = Key<GlobalNamespace, String>(id: "data0", defaultValue: "none")
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.get(text) } }
    #expect(error?.code == .decoding)
    let bytes = Key<GlobalNamespace, NSString?>(id: "data0", defaultValue: nil)
    #expect(throws: StorezFailure.self) { try store.throwing { $0.get(bytes) } }
  }

  @Test(arguments: [false, true]) func aNumberOfWhichTheTypeHasNoExactValueIsReported(_ isArchived: Bool) throws {
    func put(_ number: Any, _ object: NSNumber, _ id: String) {
      if isArchived {
        store.set(Key<GlobalNamespace, NSNumber>(id: id, defaultValue: 0), value: object)
      } else {
        store.defaults.set(number, forKey: id)
      }
    }
    func expectFailure<K: KeyType>(_ key: K) where K.ValueType: Codable & Equatable {
      let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.get(key) } }
      #expect(error?.code == .decoding)
      #expect(store.get(key) == key.defaultValue)
    }
    put(21.5, NSNumber(value: 21.5), "fraction")
    put(1e300, NSNumber(value: 1e300), "large")
    put(Int.max, NSNumber(value: Int.max), "integer")
    put(2.0, NSNumber(value: 2.0), "whole")
    expectFailure(Key<GlobalNamespace, Int>(id: "fraction", defaultValue: -1))
    expectFailure(Key<GlobalNamespace, Int?>(id: "fraction", defaultValue: nil))
    expectFailure(Key<GlobalNamespace, Int>(id: "large", defaultValue: -1))
    expectFailure(Key<GlobalNamespace, Float>(id: "large", defaultValue: -1))
    expectFailure(Key<GlobalNamespace, Double>(id: "integer", defaultValue: -1))
    #expect(store.get(Key<GlobalNamespace, Bool>(id: "whole", defaultValue: false)))
    #expect(store.get(Key<GlobalNamespace, Double>(id: "fraction", defaultValue: 0)) == 21.5)
    #expect(store.get(Key<GlobalNamespace, Int>(id: "integer", defaultValue: 0)) == Int.max)
    #expect(store.get(Key<GlobalNamespace, Int>(id: "whole", defaultValue: 0)) == 2)
    // So it can be migrated in place.
    let key = Key<GlobalNamespace, Int>(id: "fraction", defaultValue: 0)
    store.migrate([UserDefaultsStore.Migration(to: key, from: "fraction") { _ in 22 }])
    #expect(try store.throwing { $0.get(key) } == 22)
  }

  @Test func whatTheOriginalWroteIsRead() throws {
    store.defaults.set(Data("[9.5]".utf8), forKey: "double")
    store.defaults.set(Data("[{\"x\":4}]".utf8), forKey: "test")
    store.defaults.set(Data("[null]".utf8), forKey: "null")
    #expect(store.get(Key<GlobalNamespace, Double>(id: "double", defaultValue: 0)) == 9.5)
    #expect(store.get(Key<GlobalNamespace, Test?>(id: "test", defaultValue: nil)) == Test(x: 4))
    #expect(store.get(Key<GlobalNamespace, Test?>(id: "null", defaultValue: nil)) == nil)
    // The store also reads its own form.
    store.set(Key<GlobalNamespace, Test>(id: "test", defaultValue: Test(x: 0)), value: Test(x: 5))
    #expect(store.defaults.data(forKey: "test") == Data("[{\"x\":5}]".utf8))
  }

  @Test func aValueThatEncodesToNothingReadableIsReported() throws {
    struct Stubborn: Codable, Sendable {
      init() {}
      init(from decoder: any Decoder) throws { throw CocoaError(.coderReadCorrupt) }
      func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    }
    let key = Key<GlobalNamespace, Stubborn>(id: "stubborn", defaultValue: Stubborn())
    let error = #expect(throws: StorezFailure.self) { try store.throwing { $0.set(key, value: Stubborn()) } }
    #expect(error?.code == .encoding)
    #expect(store.defaults.object(forKey: "stubborn") == nil)
  }

  @Test func withoutASuiteClearingTouchesItsOwnKeysOnly() {
    let foreign = "storez-test-foreign-" + UUID().uuidString
    UserDefaults.standard.set("kept", forKey: foreign)
    defer { UserDefaults.standard.removeObject(forKey: foreign) }
    let key = Key<Animals, Int?>(id: "storez-test", defaultValue: nil)
    let store = UserDefaultsStore(suite: nil)
    store.set(key, value: 3)
    self.store.set(key, value: 4)
    // A new object, as in a later process: the list to clear is in the defaults.
    let later = UserDefaultsStore(suite: nil)
    #expect(later.get(key) == 3)
    later.clear()
    #expect(store.get(key) == nil)
    #expect(self.store.get(key) == 4)
    #expect(UserDefaults.standard.string(forKey: foreign) == "kept")
    #expect(UserDefaults.standard.object(forKey: "storez.keys") == nil)
  }

  @Test func withASuiteClearingTouchesTheSuiteOnly() {
    let other = TemporarySuite()
    other.store.set(Animals.count, value: 1)
    store.set(Animals.count, value: 2)
    store.defaults.set("foreign", forKey: "foreign")
    store.clear()
    #expect(store.get(Animals.count) == 0)
    #expect(store.defaults.object(forKey: "foreign") == nil)
    #expect(other.store.get(Animals.count) == 1)
  }
}
