#if Encryption
  import Foundation
  import LMDBCaching
  import LMDBCachingRedis
  import RedisTestSupport
  import Testing

  @Suite struct FleetEncryptionTests {
    @Test func theServerNeverSeesPlainText() throws {
      let server = try RedisServer()
      var local = CacheConfiguration()
      local.valueTransforms = [AuthenticatedEncryption(.aesGCM) { Data(repeating: 7, count: 32) }]
      let (first, second) = (try Machine(server, local: local), try Machine(server, local: local))
      try first.cache.set("a very plain text", forKey: "k", expiresIn: .seconds(3_600))
      guard case .bytes(let stored) = try server.run("GET", "{lmdb-cache}:1:e:k") else { throw NotInTime() }
      #expect(stored.range(of: Data("plain".utf8)) == nil)
      #expect(try second.cache.value(String.self, forKey: "k") == "a very plain text")
      #expect(try second.cache.local.value(String.self, forKey: "k") == "a very plain text")
      let third = try Machine(server)
      #expect(throws: CacheError.self) { try third.cache.value(String.self, forKey: "k") }
    }
  }
#endif
