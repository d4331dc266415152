import TestSupport
import Testing

@testable import LMDBCaching

/// The two-tier cache relies on this: a late insertion never replaces a newer change.
@Suite struct MemoryStampTests {
  let store = MemoryCache<String, Int>(keepsStamps: true)
  let hash: UInt64

  init() { hash = store.hash(of: "key") }

  var value: Int? {
    if case .hit(let value) = store.access("key", hash: hash, { .some($0.value) }) { value } else { nil }
  }

  @Test func aLateInsertReplacesNothingNewer() {
    #expect(store.insert("key", hash: hash, value: 2, stamp: 20) == .done)
    #expect(store.insert("key", hash: hash, value: 1, stamp: 10) == .superseded)
    #expect(value == 2)
    store.remove("key", hash: hash, stamp: 30)
    #expect(store.insert("key", hash: hash, value: 1, stamp: 25) == .superseded)
    #expect(value == nil)
    // Another key of the group has advanced, so the group gives no answer; the entry's own stamp is older than both.
    #expect(store.insert("key", hash: hash, value: 1, stamp: 40) == .done)
    store.announce("other", hash: hash, stamp: 60)
    #expect(store.insert("key", hash: hash, value: 2, stamp: 50) == .superseded)
    #expect(value == nil)
  }

  @Test func aPromotionIsKeptOutByAnyMutationSinceItsToken() {
    let token = store.token(hash: hash)!
    store.remove("key", hash: hash, stamp: 20)
    #expect(store.promote("key", hash: hash, value: 1, stamp: 10, token: token) == .superseded)
    let earlier = store.token(hash: hash)!
    store.announce("other", hash: hash, stamp: 30)
    #expect(store.promote("key", hash: hash, value: 1, stamp: 10, token: earlier) == .superseded)
    #expect(value == nil)
    let later = store.token(hash: hash)!
    #expect(store.promote("key", hash: hash, value: 3, stamp: 15, token: later) == .done)
    #expect(value == 3)
  }

  @Test func whatWasReadBeforeAnEvictionElsewhereStaysOut() throws {
    _ = store.insert("key", hash: hash, value: 1, stamp: 10)
    let token = try #require(store.token(hash: hash))
    #expect(store.discard("key", hash: hash, stamp: 10, moment: 20))
    #expect(store.promote("key", hash: hash, value: 1, stamp: 10, token: token) == .superseded)
    #expect(value == nil)
    // Also without an earlier entry; newer entries stay.
    let second = try #require(store.token(hash: hash))
    _ = store.insert("key", hash: hash, value: 2, stamp: 30)
    #expect(!store.discard("key", hash: hash, stamp: 10, moment: 40))
    #expect(value == 2)
    #expect(store.promote("key", hash: hash, value: 1, stamp: 35, token: second) == .superseded)
    // A late removal changes nothing.
    let third = try #require(store.token(hash: hash))
    #expect(third == 40 && !store.discard("key", hash: hash, stamp: 10, moment: 35))
    #expect(store.promote("key", hash: hash, value: 3, stamp: 30, token: third) == .done)
    #expect(value == 3)
  }
}
