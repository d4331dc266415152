import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation

// A separate process, because a replacement affects the whole process.

extension UserDefaults {
  // The language asks for the annotation: UserDefaults is not Sendable.
  nonisolated(unsafe) private static let appGroup = UserDefaults(suiteName: "you.user.defaults.group")

  @_dynamicReplacement(for:makeDefault())
  class func makeDefaultForAppGroup() -> Self {
    return (UserDefaults.appGroup as? Self) ?? makeDefault()
  }
}

extension LMDBCache {
  nonisolated(unsafe) static var replacement: LMDBCache?

  @_dynamicReplacement(for:makeDefault())
  static func makeDefaultOfTheTest() -> LMDBCache? { replacement ?? makeDefault() }
}

nonisolated(unsafe) var calls: [String] = []

extension EFStorageUserDefaultsRef {
  @_dynamicReplacement(for:onConversionFailure(for:dueTo:))
  func noteConversionFailure(for content: Content, dueTo error: any Error) { calls.append("defaults conversion") }

  @_dynamicReplacement(for:onLoadFailure(_:))
  func noteLoadFailure(_ error: any Error) { calls.append("defaults load") }
}

extension EFStorageLMDBCacheRef {
  @_dynamicReplacement(for:onConversionFailure(for:dueTo:))
  func noteConversionFailure(for content: Content, dueTo error: any Error) { calls.append("cache conversion") }

  @_dynamicReplacement(for:onStorageFailure(_:))
  func noteStorageFailure(_ error: any Error) { calls.append("cache storage") }

  @_dynamicReplacement(for:onLoadFailure(_:))
  func noteLoadFailure(_ error: any Error) { calls.append("cache load") }
}

private struct Refusal: Error {}

private struct Unstorable: UserDefaultsStorable, LMDBCacheStorable {
  func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .failure(Refusal()) }
  static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? { nil }
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .failure(Refusal()) }
  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { nil }
}

/// Prints which defaults have the values, the calls of the hooks, and what failed conversions leave.
enum Replacements {
  static func run(directory: String) throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory))
    LMDBCache.replacement = cache
    LMDBCache.efStorage.replaced = "cache"
    UserDefaults.efStorage.replaced = "defaults"
    let defaults = [UserDefaults(suiteName: "you.user.defaults.group"), UserDefaults.standard]
    let places = try [cache.value(String.self, forKey: "replaced")] + defaults.map { $0?.string(forKey: "replaced") }
    print(places.map { $0 ?? "nothing" }.joined(separator: ", "))

    let defaultsRef = EFStorageUserDefaultsRef<Unstorable>.forKey("replaced")
    defaultsRef.content = Unstorable()
    _ = defaultsRef.content
    let cacheRef = EFStorageLMDBCacheRef<Unstorable>.forKey("replaced")
    cacheRef.content = Unstorable()
    for _ in 0..<2 { _ = cacheRef.content }
    let contents = [UserDefaults.efStorage.replaced as String?, LMDBCache.efStorage.replaced as String?]
    print(contents.map { $0 ?? "nothing" }.joined(separator: ", "))
    try cache.close()
    cacheRef.content = nil
    print(calls.joined(separator: ", "))
  }
}
