#if Compression && Encryption
  package import Foundation
  package import LMDBCaching

  /// A closed cache whose values are compressed, then encrypted.
  package enum TransformedFixture {
    package static var transforms: [any ValueTransform] {
      [ZstandardCompression(), AuthenticatedEncryption { Data((0..<32).map { UInt8($0) }) }]
    }

    /// Incompressible data.
    private static let noise: Data = {
      var state: UInt32 = 1
      let bytes = (0..<9_000).map { (_: Int) -> UInt8 in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
      }
      return Data(bytes)
    }()

    package static let values = [
      FixtureValue("text", String(repeating: "all work and no play ", count: 200)),
      FixtureValue("short", "secret"),
      FixtureValue("long", noise),
      FixtureValue("person", FixturePerson.ann, expiration: CacheFixture.farDate, cost: 7, tags: ["people"]),
    ]

    package static func write(to directory: URL) throws {
      var configuration = CacheFixture.configuration()
      configuration.valueTransforms = transforms
      let cache = try LMDBCache(directory: directory, configuration: configuration)
      for value in values { try value.write(cache) }
      try cache.close()
    }
  }
#endif
