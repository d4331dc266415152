import EFStorageLMDBCache
import Foundation
import TestSupport
import Testing

private enum Here { struct Item: Codable, Equatable, LMDBCacheStorable { var a: Int } }
private enum There { struct Item: Codable, Equatable, LMDBCacheStorable { var b: Int } }

struct RegistryTests {
  @Test func typesOfOneNameAreTwoTypes() throws {
    _ = Failures()
    let cache = try TemporaryDirectory().cache()
    let here = EFStorageLMDBCacheRef<Here.Item>.forKey("item", in: cache)
    let there = EFStorageLMDBCacheRef<There.Item>.forKey("item", in: cache)
    #expect("\(Here.Item.self)" == "\(There.Item.self)")
    #expect(ObjectIdentifier(here) != ObjectIdentifier(there))
    here.content = Here.Item(a: 1)
    #expect(here.content == Here.Item(a: 1) && there.content == nil)
    // Keys are bytes, although `==` treats these as equal.
    let composed = EFStorageLMDBCacheRef<Int>.forKey("caf\u{e9}", in: cache)
    let decomposed = EFStorageLMDBCacheRef<Int>.forKey("cafe\u{301}", in: cache)
    composed.content = 1
    decomposed.content = 2
    #expect(composed !== decomposed && composed.content == 1 && decomposed.content == 2)
  }

  /// No lock is held while a reference is made.
  @Test func makingAReferenceMayMakeOthers() throws {
    struct Outer: Codable, LMDBCacheStorable {
      static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? {
        _ = EFStorageLMDBCacheRef<Int>.forKey(key, in: cache).content
        return Outer()
      }
    }
    let cache = try TemporaryDirectory().cache()
    #expect(finishes { _ = EFStorageLMDBCacheRef<Outer>.forKey("outer", in: cache).content })
  }
}
