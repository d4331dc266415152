import EFStorageStorez
import EFStorageUserDefaults
import Foundation
import GarageStorage
import Testing

// Client code in a module whose declarations are on the main actor unless they say otherwise.

/// A value of a cache is `nonisolated`, since other threads encode and decode it as well.
nonisolated struct Profile: Codable, Sendable { var name: String }

struct Session: Codable, LMDBCacheStorable { var user: String }

enum Mode: String, LMDBCacheStorable, UserDefaultsStorable { case day, night }

final class Preferences {
  static let shared = Preferences()

  @EFStorageLMDBCache(forKey: "session", expires: .after(.seconds(3_600)))
  var session: Session?

  @EFStorageUserDefaults(forKey: "mainActorMode")
  var mode = Mode.day

  @SomeEFStorage(
    EFStorageLMDBCache(wrappedValue: 1, forKey: "size")
      + EFStorageUserDefaults(wrappedValue: 1, forKey: "mainActorSize"))
  var size: Double
}

enum Weather: Namespace {
  static let id = "weather"
  static let temperature = Key<Weather, Double>(id: "temp", defaultValue: 0)
  static let city = Key<Weather, String?>(id: "city", defaultValue: nil)
  static var writes = 0

  static func postCommitHook() { writes += 1 }
}

struct Station {
  @EFStorageLMDBCache(Weather.temperature)
  var temperature: Double
}

class Person: Mappable {
  var id: String { name }
  var name = ""
  @Reference var brother: Person?

  private enum CodingKeys: CodingKey { case name, brother }
}

@Suite struct ClientTests {
  /// The tests that use it never suspend, so each has its own.
  func makeDefaultCache() throws -> LMDBCache {
    let cache = try LMDBCache.temporary()
    LMDBCache.defaultForEFStorage = cache
    return cache
  }

  func load(_ name: String) async throws -> Profile { Profile(name: name) }

  @Test func aCache() async throws {
    let cache = try LMDBCache.temporary()
    #expect(try await cache.value(Profile.self, forKey: "user:1") { _ in try await self.load("Ada") }.name == "Ada")
    #expect(try await cache.update([String].self, forKey: "names") { $0 = ($0 ?? []) + ["Ada"] } == ["Ada"])
    try await cache.write { $0.set(Profile(name: "Grace"), forKey: "user:2") }
    #expect(try await cache.read { try $0.value(Profile.self, forKey: "user:2") }?.name == "Grace")
    var changes = cache.changes(withPrefix: "user:").makeAsyncIterator()
    try cache.removeValue(forKey: "user:2")
    #expect(await changes.next() == .removed(key: "user:2"))
    await withCheckedContinuation { continuation in
      cache.setObject(NSString("text"), forKey: "note") { _ in continuation.resume() }
    }
    try await cache.close()
  }

  @Test func properties() throws {
    let cache = try makeDefaultCache()
    defer { for key in ["mainActorMode", "mainActorSize"] { UserDefaults.standard.removeObject(forKey: key) } }
    let preferences = Preferences.shared
    preferences.session = Session(user: "ada")
    preferences.mode = .night
    preferences.size = 2
    #expect(preferences.session?.user == "ada" && preferences.mode == .night && preferences.size == 2)
    try cache.close()
  }

  @Test func typedKeys() throws {
    let cache = try makeDefaultCache()
    let store = LMDBStore(cache: cache)
    try store.throwing { $0.set(Weather.temperature, value: 21) }
    #expect(Weather.writes == 1 && Station().temperature == 21)
    try cache.set("Oslo", forKey: "CityName")
    store.migrate([LMDBStore.Migration(to: Weather.city, from: "CityName", as: String.self) { $0 }])
    #expect(store.get(Weather.city) == "Oslo" && store.count(in: Weather.self) == 2)
    try cache.close()
  }

  @Test func parkedObjects() throws {
    let garage = Garage(with: [.inMemory])
    let sam = Person()
    sam.name = "Sam"
    sam.brother = Person()
    sam.brother?.name = "Nick"
    try garage.park(sam)
    #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother?.name == "Nick")
  }
}
