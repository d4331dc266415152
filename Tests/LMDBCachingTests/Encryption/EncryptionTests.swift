#if Compression && Encryption
  import FormatFixtures
  import Foundation
  import TestSupport
  import Testing

  @testable import LMDBCaching

  /// Encryption as users turn it on.
  @Suite struct EncryptionTests {
    let directory = CacheDirectory()

    private func encryption(
      _ algorithm: AuthenticatedEncryption.Algorithm = .aesGCM, _ key: UInt8 = 7, length: Int = 32
    ) -> AuthenticatedEncryption {
      AuthenticatedEncryption(algorithm) { Data(repeating: key, count: length) }
    }

    private func open(_ transforms: any ValueTransform...) throws -> LMDBCache {
      try directory.open {
        $0.valueTransforms = transforms
        $0.disk.inlineThreshold = 100_000
      }
    }

    @Test(arguments: [AuthenticatedEncryption.Algorithm.aesGCM, .chaChaPoly])
    func encrypts(_ algorithm: AuthenticatedEncryption.Algorithm) throws {
      let secret = Data("the secret in this value".utf8)
      let values = ["key": secret, "empty": Data(), "file": Data(repeating: 1, count: 150_000)]
      var cache = try open(encryption(algorithm))
      for (key, value) in values { try cache.set(value, forKey: key) }
      try cache.close()
      for name in directory.names() + directory.segments where name.hasSuffix("mdb") || name.contains("/") {
        #expect(directory.contents(name).range(of: secret) == nil, "\(name) holds the secret")
      }
      cache = try open(encryption(algorithm))
      for (key, value) in values { #expect(try cache.value(forKey: key) == value) }
      try cache.close()
      // A cache that also compresses, before it encrypts, reads earlier values.
      cache = try open(ZstandardCompression(), encryption(algorithm))
      let text = [String(repeating: "all work and no play ", count: 1_000)]
      try cache.set(text, forKey: "text")
      #expect(try cache.withoutMemory.value(forKey: "text") == text && cache.value(forKey: "key") == secret)
      #expect(try cache.entry(forKey: "text").map { $0.size < 1_000 } == true)
      try cache.close()
    }

    @Test(arguments: [AuthenticatedEncryption.Algorithm.aesGCM, .chaChaPoly])
    func wrongKeysAreErrorsNotMisses(_ algorithm: AuthenticatedEncryption.Algorithm) throws {
      var cache = try open(encryption(algorithm))
      try cache.set("secret", forKey: "key")
      try cache.close()
      cache = try open(encryption(algorithm, 8))
      #expect(errorCode { try cache.value(String.self, forKey: "key") } == .decodingFailed)
      #expect(try cache.contains("key"))
      try cache.close()
      cache = try open(AuthenticatedEncryption(algorithm) { throw ValueTransformError("no key") })
      #expect(errorCode { try cache.value(String.self, forKey: "key") } == .decodingFailed)
      #expect(errorCode { try cache.set("other", forKey: "key") } == .encodingFailed)
      try cache.close()
      cache = try open(encryption(algorithm, length: 17))
      #expect(errorCode { try cache.set("other", forKey: "key") } == .encodingFailed)
      try cache.close()
      cache = try open(encryption(algorithm))
      #expect(try cache.value(forKey: "key") == "secret")
      try cache.close()
    }

    @Test(arguments: Company.allCases, Place.allCases)
    func loadsAndTouchesKeepValuesReadable(_ company: Company, _ place: Place) throws {
      let clock = ManualClock()
      let cache = try directory.open {
        $0.clock = .manual(clock)
        $0.valueTransforms = [encryption()]
      }
      let child = try company.join(directory)
      var options = LoadOptions(lifetime: .seconds(10))
      options.failSafe = .seconds(100)
      options.absenceLifetime = .seconds(1_000)
      let texts = [("short", "text"), ("long", String(repeating: "x", count: 50_000))]
      for (key, text) in texts {
        #expect(try cache.value(String.self, forKey: key, options: options) { _ in text } == text)
        try place.settle(cache)
        #expect(try cache.touch(forKey: key, expires: .after(.seconds(20))))
        try place.settle(cache)
        #expect(try cache.value(forKey: key) == text)
      }
      clock.advance(by: .seconds(100))
      // The load fails, so it returns the expired value.
      for (key, text) in texts {
        #expect(try cache.value(String.self, forKey: key) == nil)
        let kept = try cache.value(String.self, forKey: key, options: options) { _ in throw CacheError(.closed, "no") }
        #expect(kept == text)
      }
      for _ in 0..<2 {
        #expect(try cache.optionalValue(Int.self, forKey: "none", options: options) { _ in nil } == nil)
        try place.settle(cache)
      }
      #expect(cache.statistics.loads == 5)
      child?.end()
      try cache.close()
    }

    @Test(arguments: FixtureOrigin.all) func reads(_ origin: FixtureOrigin) throws {
      switch origin {
      case .release(let version): try FixtureArchive.unpack("transformed", of: version, into: directory.url)
      case .current: try TransformedFixture.write(to: directory.url)
      }
      let transforms = TransformedFixture.transforms
      let clock = CacheClock.manual(CacheFixture.laterClock())
      let reader = try #require(try CacheReader(directory: directory.url, valueTransforms: transforms, clock: clock))
      for value in TransformedFixture.values { #expect(try value.isFound(in: reader), "\(value.key)") }
      let cache = try directory.open { configuration in
        configuration.clock = clock
        configuration.valueTransforms = transforms
      }
      #expect(cache.recovery == nil && cache.health.isHealthy)
      #expect(try cache.count == TransformedFixture.values.count)
      for value in TransformedFixture.values {
        #expect(try value.isFound(in: cache), "\(value.key)")
        let entry = try #require(try cache.entry(forKey: value.key))
        #expect(entry.expiration == value.expiration && entry.created == CacheFixture.date, "\(value.key)")
        if let cost = value.cost { #expect(entry.cost == cost, "\(value.key)") }
        for tag in value.tags { #expect(entry.isTagged(tag), "\(value.key)") }
      }
      try cache.close()
    }
  }
#endif
