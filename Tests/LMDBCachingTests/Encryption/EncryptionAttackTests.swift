#if Encryption
  import Foundation
  import Testing

  @testable import LMDBCaching

  /// Edits records in the database and fixes their checksums.
  @Suite struct EncryptionAttackTests {
    let directory = CacheDirectory()
    var intruder: Intruder { Intruder(directory: directory) }

    private static let secret = Data("the secret in this value".utf8)

    private func encryption(acceptsPlainValues: Bool = false) -> AuthenticatedEncryption {
      AuthenticatedEncryption(.aesGCM, acceptsPlainValues: acceptsPlainValues) { Data(repeating: 7, count: 32) }
    }

    private func open(_ transforms: (any ValueTransform)...) throws -> LMDBCache {
      try directory.open {
        $0.valueTransforms = transforms
        $0.disk.inlineThreshold = 100_000
      }
    }

    /// Leaves an encrypted value under "key", and closes the cache.
    private func fill(_ transforms: any ValueTransform...) throws {
      let cache = try directory.open { $0.valueTransforms = transforms }
      try cache.set(Self.secret, forKey: "key")
      try cache.flush()
      try cache.close()
    }

    /// Every way to a value gives this error, and the entry stays.
    private func expect(
      _ code: CacheError.Code, _ transforms: any ValueTransform..., key: String = "key",
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let cache = try directory.open { $0.valueTransforms = transforms }
      let ways: [(String, () throws -> Void)] = [
        ("value", { _ = try cache.value(Data.self, forKey: key) }),
        ("text", { _ = try cache.value(String.self, forKey: key) }),
        ("disk", { _ = try cache.withoutMemory.value(Data.self, forKey: key) }),
        ("bytes", { try cache.withBytes(forKey: key) { _ in } }),
        ("object", { _ = try cache.object(forKey: key) }),
        ("snapshot", { try cache.read { _ = try $0.value(Data.self, forKey: key) } }),
      ]
      for (name, read) in ways { #expect(errorCode(read) == code, "\(name)", sourceLocation: sourceLocation) }
      #expect(try cache.contains(key), sourceLocation: sourceLocation)
      try cache.close()
    }

    /// In the database, in the log and in a journal. A cache that was plain goes over.
    @Test(arguments: [10, 5_000], [true, false])
    func aPlainValueIsNotRead(_ length: Int, _ isCommitted: Bool) throws {
      let value = Data(repeating: 1, count: length)
      let plain = try directory.open {
        neverCommitting(&$0)
        $0.disk.inlineThreshold = 1_000
      }
      try plain.set(value, forKey: "key")
      if isCommitted { try plain.flush() }
      let crashed = directory.crashed(plain)
      try plain.close()
      for accepts in [true, false] {
        let cache = try crashed.open {
          neverCommitting(&$0)
          $0.valueTransforms = [encryption(acceptsPlainValues: accepts)]
        }
        if accepts {
          #expect(try cache.value(forKey: "key") == value)
          try cache.set(value, forKey: "new")
        } else {
          #expect(errorCode { try cache.value(Data.self, forKey: "key") } == .untransformed)
          #expect(try cache.value(forKey: "new") == value)
          try cache.set(value, forKey: "key")
          #expect(try cache.withoutMemory.value(forKey: "key") == value)
        }
        try cache.close()
      }
    }

    @Test func theListOfTransformsIsAuthenticated() throws {
      // Swaps the order, and adds a transform that anyone can undo.
      let mirror = Mirrored()
      try fill(mirror, encryption())
      let original = try intruder.record("key")
      #expect(original.transforms == [mirror.identifier, 16])
      let lists: [([UInt8], CacheError.Code)] = [
        ([16], .decodingFailed), ([16, mirror.identifier], .decodingFailed), ([mirror.identifier], .untransformed),
        ([mirror.identifier, mirror.identifier, 16], .decodingFailed), ([16, 16], .decodingFailed),
        ([200, 16], .decodingFailed), ([mirror.identifier, 16, 201], .missingTransform), ([17], .untransformed),
      ]
      for (list, code) in lists {
        try intruder.change("key") {
          $0 = original
          $0.transforms = list
        }
        try expect(code, mirror, encryption())
      }
      try intruder.change("key") {
        $0 = original
        $0.payload[0] = 0
      }
      try expect(.decodingFailed, mirror, encryption())
    }

    @Test(
      arguments: [
        { $0.expires = 1 << 62 }, { $0.cost += 1 }, { $0.created += 1 }, { $0.format = .string }, { $0.format = .cbor },
      ] as [@Sendable (inout RecordHeader) -> Void])
    func theHeaderIsAuthenticated(_ change: @Sendable (inout RecordHeader) -> Void) throws {
      try fill(encryption())
      // A value belongs to one entry.
      try intruder.put(intruder.record("key"), "other")
      try expect(.decodingFailed, encryption(), key: "other")
      try intruder.change("key") { change(&$0.header) }
      try expect(.decodingFailed, encryption())
    }

    @Test(arguments: [nil, ["red"], ["red", "blue"], ["blue", "green"]] as [[String]?])
    func theTagsAreAuthenticated(_ other: [String]?) throws {
      var cache = try open(encryption())
      try cache.set(Self.secret, forKey: "key", tags: ["red", "green"])
      try cache.close()
      let original = try intruder.record("key")
      try intruder.change("key") { $0.tags = try? other.flatMap(EntryTags.make) }
      try expect(.decodingFailed, encryption())
      try intruder.put(original, "key")
      cache = try open(encryption())
      #expect(try cache.value(forKey: "key") == Self.secret)
      try cache.removeAll(.tag("green"))
      #expect(try !cache.contains("key"))
      try cache.close()
    }

    @Test func everyByteIsAuthenticated() throws {
      try fill(encryption())
      let original = try intruder.record("key")
      let cut = original.payload.count - 1
      for offset in 2..<original.payload.count {
        try intruder.change("key") { $0.payload[offset] ^= 1 }
        let cache = try open(encryption())
        #expect(errorCode { try cache.value(Data.self, forKey: "key") } == .decodingFailed, "byte \(offset)")
        try cache.close()
        try intruder.put(original, "key")
      }
      for length in [2, 3, 14, 29, cut] {
        try intruder.change("key") { $0.payload = Array(original.payload[..<length]) }
        try expect(.decodingFailed, encryption())
      }
    }

    @Test func aRequiredTransformChangesEveryValue() throws {
      let cache = try open(Refusing())
      #expect(errorCode { try cache.set(1, forKey: "key") } == .encodingFailed)
      #expect(try cache.count == 0)
      try cache.close()
    }
  }

  private struct Mirrored: ValueTransform {
    var identifier: UInt8 { 130 }
    func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? { Data(bytes.reversed()) }
    func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data { Data(bytes.reversed()) }
  }

  /// Claims to be required, but does nothing.
  private struct Refusing: ValueTransform {
    var identifier: UInt8 { 131 }
    var isRequired: Bool { true }
    func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? { nil }
    func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data { bytes }
  }
#endif
