import EFStorageLMDBCache
import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct LossTests {
  /// A cache that was rebuilt after damage has lost its contents. A sound one says nothing.
  @Test func aReferenceReportsThatItsContentIsLost() throws {
    let directory = try TemporaryDirectory()
    let (key, other) = ("lost \(UUID())", "default \(UUID())")
    let (failures, others) = (Failures(of: key), Failures(of: other))
    let sound = try directory.cache()
    for key in [key, other] { EFStorageLMDBCache(wrappedValue: 0, forKey: key, in: sound).wrappedValue = 42 }
    try sound.close()
    #expect(failures.all.isEmpty && others.all.isEmpty)
    let file = directory.url.appendingPathComponent("cache/data.mdb")
    try Data(contentsOf: file).prefix(9_000).write(to: file)
    let cache = try directory.cache()
    #expect(cache.recovery != nil)

    let reference = EFStorageLMDBCacheRef<Int>.forKey(key, in: cache)
    #expect(failures.kinds == [.loss])
    #expect(reference.content == nil)
    #expect(reference.lastFailure?.kind == .loss)
    #expect((reference.lastFailure?.underlying as? CacheError)?.code == .rebuilt)
    reference.content = 1
    #expect(reference.lastFailure == nil)
    #expect(reference.content == 1)
    #expect(failures.kinds == [.loss])
    // Nor is a default stored silently.
    let wrapper = EFStorageLMDBCache(wrappedValue: 7, forKey: other, in: cache, persistDefaultContent: true)
    #expect(others.kinds == [.loss])
    #expect(wrapper.wrappedValue == 7)
    #expect(try cache.value(Int.self, forKey: other) == 7)
    try cache.close()
  }
}
