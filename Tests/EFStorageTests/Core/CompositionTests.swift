import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

private struct Size: Codable, Equatable, LMDBCacheStorable, UserDefaultsStorable { var points: Int }

/// A storage that holds its content itself.
private struct OwnPlace: EFStorage {
  var content: String?
  var wrappedValue: String {
    get { content ?? "" }
    set { content = newValue }
  }
}

/// A text that runs a hook during its conversion.
private struct HookedText: Equatable, LMDBCacheStorable {
  @TaskLocal static var whileConverting: (@Sendable () -> Void)?

  var text: String

  func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
    let hook = Self.whileConverting
    // Nested conversions run no hook.
    Self.$whileConverting.withValue(nil) { hook?() }
    return text.asLMDBCacheStorable()
  }

  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> HookedText? {
    String.fromLMDBCache(cache, forKey: key).map { HookedText(text: $0) }
  }
}

struct CompositionTests {
  private let directory: TemporaryDirectory
  private let cache: LMDBCache

  init() throws {
    directory = try TemporaryDirectory()
    cache = try directory.cache()
  }

  /// An observer runs without exclusive access to the property.
  @Test(arguments: [false, true], [false, true])
  func anObserverOfAFailureMayUseTheProperty(isRead: Bool, isMember: Bool) throws {
    let key = "observed \(isRead) \(isMember)"
    let temporary = TemporaryDefaults()
    if isRead { try cache.set("text", forKey: key) }
    let both =
      EFStorageLMDBCache(wrappedValue: Size(points: 0), forKey: key, in: cache)
      + EFStorageUserDefaults(wrappedValue: Size(points: 0), forKey: key, in: temporary.defaults)
    if !isRead { try cache.close() }
    let write: @Sendable (Int) -> Void = { points in
      if isMember { both.points = points } else { both.wrappedValue = Size(points: points) }
    }
    let (isNotified, seen) = (Guarded(false), Guarded<Int?>(nil))
    let observation = EFStorageFailure.observe { failure in
      // Only the first failure counts.
      if failure.key != key || isNotified.current { return }
      isNotified { $0 = true }
      let points = both.wrappedValue.points
      seen { $0 = points }
      write(3)
    }
    if isRead { _ = both.wrappedValue } else { write(1) }
    observation.cancel()
    #expect(seen.current == 0)
    // The write that began first finishes last.
    #expect(both.wrappedValue.points == (isRead ? 3 : 1))
    if isRead { #expect(try cache.value(Size.self, forKey: key) == Size(points: 3)) }
  }

  @Test func aPlaceThatHasItsContentInItselfKeepsIt() throws {
    let both = OwnPlace(content: nil) + OwnPlace(content: "second")
    #expect(both.wrappedValue == "second")
    both.wrappedValue = "both"
    #expect(both.content == "both")
    try both.storeContent(nil)
    #expect(both.content == nil && both.wrappedValue == "")
    @SomeEFStorage(OwnPlace(content: "old")) var single: String
    single = "new"
    #expect(single == "new")
  }

  @Test(arguments: [0, 1]) func oneWriteFails(_ failing: Int) throws {
    let key = "composed \(failing)"
    let caches = [try directory.cache("first"), try directory.cache("second")]
    let both =
      EFStorageLMDBCache(wrappedValue: 0, forKey: key, in: caches[0])
      + EFStorageLMDBCache(wrappedValue: 0, forKey: key, in: caches[1])
    both.wrappedValue = 1
    for cache in caches { #expect(try cache.value(forKey: key) == 1) }
    try caches[failing].close()
    let failures = Failures(of: key)
    both.wrappedValue = 2
    #expect(failures.kinds.first == .storage && both.wrappedValue == 2)
    let error = #expect(throws: EFStorageCompositionError.self) { try both.storeContent(3) }
    #expect((error?.first == nil) == (failing == 1) && (error?.second == nil) == (failing == 0))
    #expect("\(error!)".contains("\(["first", "second"][failing]) of two"))
    #expect(try caches[1 - failing].value(forKey: key) == 3)
    try caches[1 - failing].close()
    let neither = #expect(throws: EFStorageCompositionError.self) { try both.storeContent(4) }
    #expect(neither?.code == .both && (neither?.underlying as? EFStorageFailure)?.code == .storage)
  }

  /// A backfill after a read must not overwrite a newer write.
  @Test func backfillingKeepsANewerContent() throws {
    try cache.set("old", forKey: "second")
    let first = EFStorageLMDBCache(
      wrappedValue: HookedText(text: ""), forKey: "first", in: cache, expires: .after(.seconds(3600)))
    let second = EFStorageLMDBCache(wrappedValue: HookedText(text: ""), forKey: "second", in: cache)
    #expect((first + second).wrappedValue.text == "old" && first.content == nil)
    let both = EFStorageComposition(first, second, backfillsFirst: true)
    #expect(both.wrappedValue.text == "old" && first.content?.text == "old")
    first.content = nil
    let write: @Sendable () -> Void = { both.wrappedValue = HookedText(text: "newer") }
    let found = HookedText.$whileConverting.withValue(write) { both.wrappedValue }
    #expect(found.text == "old" && both.wrappedValue.text == "newer" && first.content?.text == "newer")
  }

  @Test func storingWhereNothingIs() throws {
    let both =
      EFStorageLMDBCache(wrappedValue: "", forKey: "a", in: cache)
      + EFStorageLMDBCache(wrappedValue: "", forKey: "b", in: cache)
    #expect(try both.storeContentIfAbsent { nil } == false)
    #expect(try cache.count == 0)
    #expect(try both.storeContentIfAbsent { "one" })
    #expect(try cache.value(forKey: "a") == "one" && cache.value(forKey: "b") == "one")
    let wrapped = SomeEFStorage(both)
    #expect(try wrapped.storeContentIfAbsent { "two" } == false)
    try cache.removeObject(forKey: "a")
    #expect(try both.storeContentIfAbsent { "two" } == false)
    #expect(try both.content == "one" && cache.count == 1)
    both.wrappedValue = "three"
    both.content = nil
    #expect(try cache.count == 0 && both.wrappedValue == "")
    var own = OwnPlace(content: nil)
    let isStored = [try own.storeContentIfAbsent { "one" }, try own.storeContentIfAbsent { "two" }]
    #expect(isStored == [true, false] && own.content == "one")
  }

  /// The older form has the same key, and only the second storage can read it.
  @Test func oneKeyInTwoForms() throws {
    let failures = Failures(of: "one")
    try cache.set(3.0, forKey: "one")
    let both = EFStorageComposition(
      EFStorageLMDBCache<String?>(wrappedValue: "none", forKey: "one", in: cache),
      EFStorageMigrate(
        from: EFStorageLMDBCache<Double>(wrappedValue: 0, forKey: "one", in: cache),
        by: { number -> String? in "\(number)" }))
    #expect(try both.wrappedValue == "3.0" && both.loadContent() == "3.0")
    // In a cache, null is a value of the new form.
    for value in ["4.0", nil] {
      both.wrappedValue = value
      #expect(try both.wrappedValue == value && cache.count == 1)
    }
    // Neither can read this, so it is an error.
    try cache.set([true], forKey: "one")
    #expect(throws: EFStorageFailure.self) { try both.loadContent() }
    #expect(Set(failures.kinds) == [.loading])
  }

  @Test func onlyARemovalRemovesTheOldForm() throws {
    let temporary = TemporaryDefaults()
    temporary.defaults.set(12, forKey: "points")
    @EFStorageComposition(
      EFStorageUserDefaults<String?>(wrappedValue: nil, forKey: "size", in: temporary.defaults),
      EFStorageMigrate(
        from: EFStorageUserDefaults<Int>(wrappedValue: 0, forKey: "points", in: temporary.defaults),
        by: { points -> String? in "\(points) pt" }))
    var size: String?
    #expect(size == "12 pt")
    size = "large"
    #expect(temporary.defaults.integer(forKey: "points") == 12)
    size = nil
    #expect(size == nil)
    #expect(temporary.defaults.object(forKey: "points") == nil)
  }
}
