import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation

// A process of its own, since what is replaced is replaced for the whole of it.

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

enum Replacements {
  static func run(directory: String) throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory))
    LMDBCache.replacement = cache
    LMDBCache.efStorage.replaced = "yes"
    try expect(try cache.value(forKey: "replaced") == "yes", "makeDefault() of the cache is not replaced")

    UserDefaults.efStorage.replaced = "yes"
    let group = UserDefaults(suiteName: "you.user.defaults.group")
    expect(group?.string(forKey: "replaced") == "yes", "makeDefault() of the defaults is not replaced")
    expect(UserDefaults.standard.string(forKey: "replaced") == nil, "the standard defaults were written")

    let defaultsRef = EFStorageUserDefaultsRef<Unstorable>.forKey("replaced")
    defaultsRef.content = Unstorable()
    expect(calls == ["defaults conversion"], "\(calls)")
    expect(UserDefaults.efStorage.replaced as String? == "yes", "a failed conversion changed what is stored")
    _ = defaultsRef.content
    expect(calls == ["defaults conversion", "defaults load"], "\(calls)")

    calls = []
    let cacheRef = EFStorageLMDBCacheRef<Unstorable>.forKey("replaced")
    cacheRef.content = Unstorable()
    expect(calls == ["cache conversion"], "\(calls)")
    expect(LMDBCache.efStorage.replaced as String? == "yes", "a failed conversion changed what is stored")
    _ = cacheRef.content
    _ = cacheRef.content
    expect(calls == ["cache conversion", "cache load"], "\(calls)")
    try cache.close()
    cacheRef.content = nil
    expect(calls == ["cache conversion", "cache load", "cache storage"], "\(calls)")
    print("replaced")
  }

  private static func expect(_ isMet: @autoclosure () throws -> Bool, _ message: String) rethrows {
    if try !isMet() { print("failed: \(message)") }
  }
}
