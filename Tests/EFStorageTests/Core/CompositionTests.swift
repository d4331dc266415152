import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import Testing

struct CompositionTests {
  @Test func secondWriteFails() throws {
    let directory = try TemporaryDirectory()
    let first = try directory.cache("first")
    let second = try directory.cache("second")
    var both =
      EFStorageLMDBCache(wrappedValue: 0, forKey: "composed", in: first)
      + EFStorageLMDBCache(wrappedValue: 0, forKey: "composed", in: second)
    both.wrappedValue = 1
    #expect(try first.value(forKey: "composed") == 1 && second.value(forKey: "composed") == 1)

    try second.close()
    let failures = Failures(of: "composed")
    both.wrappedValue = 2
    #expect(failures.kinds == [.storage])
    #expect(both.wrappedValue == 2)
    let error = #expect(throws: EFStorageCompositionError.self) { try both.storeContent(3) }
    #expect(error?.first == nil && error?.second is EFStorageFailure)
    #expect("\(error!)".contains("second of two"))
    #expect(try first.value(forKey: "composed") == 3)
  }

  @Test func firstWriteFailsAndTheSecondIsTried() throws {
    let directory = try TemporaryDirectory()
    let first = try directory.cache("first")
    let second = try directory.cache("second")
    var both =
      EFStorageLMDBCache(wrappedValue: 0, forKey: "composed2", in: first)
      + EFStorageLMDBCache(wrappedValue: 0, forKey: "composed2", in: second)
    try first.close()
    let failures = Failures(of: "composed2")
    both.wrappedValue = 2
    #expect(failures.kinds.first == .storage)
    #expect(try second.value(forKey: "composed2") == 2)
    let error = #expect(throws: EFStorageCompositionError.self) { try both.storeContent(3) }
    #expect(error?.first != nil && error?.second == nil)
  }

  @Test(arguments: [false, true])
  func backfilling(isAskedFor: Bool) throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    try cache.set("old", forKey: "second")
    let both = EFStorageComposition(
      EFStorageLMDBCache(wrappedValue: "", forKey: "first", in: cache),
      EFStorageLMDBCache(wrappedValue: "", forKey: "second", in: cache), backfillsFirst: isAskedFor)
    #expect(both.wrappedValue == "old")
    #expect(try cache.value(forKey: "first") == (isAskedFor ? "old" : nil))
  }

  @Test func removingRemovesBoth() throws {
    let cache = try TemporaryDirectory().cache()
    var both =
      EFStorageLMDBCache(wrappedValue: 1, forKey: "a", in: cache)
      + EFStorageLMDBCache(wrappedValue: 2, forKey: "b", in: cache)
    both.wrappedValue = 5
    both.content = nil
    #expect(cache.count == 0 && both.wrappedValue == 1)
  }

  @Test func acrossContainers() throws {
    let cache = try TemporaryDirectory().cache()
    let temporary = TemporaryDefaults()
    @SomeEFStorage(
      EFStorageLMDBCache(wrappedValue: 10, forKey: "size", in: cache)
        + EFStorageUserDefaults(wrappedValue: 12, forKey: "size", in: temporary.defaults))
    var size: Int
    #expect(size == 10)
    temporary.defaults.set(14, forKey: "size")
    #expect(size == 14)
    size = 16
    #expect(try cache.value(forKey: "size") == 16 && temporary.defaults.integer(forKey: "size") == 16)
  }

  /// The older form is under the same key: what the first place cannot read the second one can.
  @Test func oneKeyInTwoForms() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let failures = Failures(of: "one")
    try cache.set(3.0, forKey: "one")
    var both = EFStorageComposition(
      EFStorageLMDBCache<String>(wrappedValue: "none", forKey: "one", in: cache),
      EFStorageMigrate(
        from: EFStorageLMDBCache<Double>(wrappedValue: 0, forKey: "one", in: cache), by: { String($0) }))
    #expect(both.wrappedValue == "3.0")
    #expect(try both.content == "3.0" && both.loadContent() == "3.0")
    try both.storeContent("4.0")
    #expect(try both.loadContent() == "4.0" && both.content == "4.0")
    // What neither can read is an error.
    try cache.set([true], forKey: "one")
    #expect(both.content == nil)
    #expect(throws: EFStorageFailure.self) { try both.loadContent() }
    #expect(Set(failures.kinds) == [.loading])
  }

  @Test func migrationLeavesTheOldForm() throws {
    let cache = try TemporaryDirectory().cache()
    try cache.set(12, forKey: "points")
    @EFStorageComposition(
      EFStorageLMDBCache<String>(wrappedValue: "none", forKey: "size", in: cache),
      EFStorageMigrate(
        from: EFStorageLMDBCache<Int>(wrappedValue: 0, forKey: "points", in: cache), by: { "\($0) pt" }))
    var size: String
    #expect(size == "12 pt")
    size = "large"
    #expect(size == "large")
    #expect(try cache.value(forKey: "points") == 12)
  }
}
