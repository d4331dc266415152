import EFStorageLMDBCache
import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct LossTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// A cache with a value under `key`, rebuilt after damage.
  private func recovered(_ key: String) throws -> LMDBCache {
    let cache = try directory.cache()
    let wrapper = EFStorageLMDBCache(wrappedValue: 0, forKey: key, in: cache)
    wrapper.wrappedValue = 42
    try cache.close()
    let file = directory.url.appendingPathComponent("cache/data.mdb")
    try Data(contentsOf: file).prefix(9_000).write(to: file)
    let again = try directory.cache()
    #expect(again.recovery != nil)
    return again
  }

  @Test func aReferenceSaysThatItsContentIsLost() throws {
    let key = "lost \(UUID())"
    let cache = try recovered(key)
    let failures = Failures(of: key)
    let reference = EFStorageLMDBCacheRef<Int>.forKey(key, in: cache)
    #expect(failures.kinds == [.loss])
    #expect(reference.content == nil)
    #expect(reference.lastFailure?.kind == .loss)
    #expect((reference.lastFailure?.underlying as? CacheError)?.code == .rebuilt)
    reference.content = 1
    #expect(reference.lastFailure == nil)
    #expect(reference.content == 1)
    #expect(failures.kinds == [.loss])
    try cache.close()
  }

  @Test func aDefaultIsNotPersistedSilently() throws {
    let key = "default \(UUID())"
    let cache = try recovered(key)
    let failures = Failures(of: key)
    let wrapper = EFStorageLMDBCache(wrappedValue: 7, forKey: key, in: cache, persistDefaultContent: true)
    #expect(failures.kinds == [.loss])
    #expect(wrapper.wrappedValue == 7)
    #expect(try cache.value(Int.self, forKey: key) == 7)
    try cache.close()
  }

  @Test func aCacheThatWasSoundSaysNothing() throws {
    let failures = Failures(of: "key of a sound cache")
    let cache = try directory.cache()
    let wrapper = EFStorageLMDBCache(wrappedValue: 7, forKey: "key of a sound cache", in: cache)
    #expect(wrapper.wrappedValue == 7)
    #expect(failures.all.isEmpty)
    try cache.close()
  }
}
