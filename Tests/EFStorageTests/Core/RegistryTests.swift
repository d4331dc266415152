@testable import EFStorageCore
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
  }

  @Test func referencesDoNotKeepTheRegistryLarge() throws {
    let cache = try TemporaryDirectory().cache()
    let before = ReferenceRegistry.shared.slotCount
    for number in 0..<10_000 { EFStorageLMDBCacheRef<Int>.forKey("many\(number)", in: cache).content = nil }
    #expect(ReferenceRegistry.shared.slotCount < before * 2 + 200)
  }

  @Test func threadsGetTheSameReference() throws {
    let cache = try TemporaryDirectory().cache()
    for round in 0..<50 {
      let found = Guarded<[ObjectIdentifier: EFStorageLMDBCacheRef<Int>]>([:])
      concurrently(4) { _ in
        let reference = EFStorageLMDBCacheRef<Int>.forKey("round\(round)", in: cache)
        found { $0[ObjectIdentifier(reference)] = reference }
      }
      #expect(found.current.count == 1)
    }
  }

  /// Making a reference may ask for references: no lock is held.
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
