import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Several caches of one process on one directory: what they share, and what is per object.
@Suite struct SharedOpeningTests {
  let directory = CacheDirectory()

  /// Stands in for encryption: hides every value on disk, and rejects unmasked ones.
  private struct Mask: ValueTransform {
    var identifier: UInt8 = 140
    var byte: UInt8 = 0x5A
    var isRequired = true

    func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
      Data([byte] + bytes.map { $0 ^ byte })
    }

    func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data {
      guard bytes.first == byte else { throw CocoaError(.coderInvalidValue) }
      return Data(bytes.dropFirst().map { $0 ^ byte })
    }
  }

  private static let secret = "the secret in this value"

  private func open(_ transforms: [any ValueTransform]) throws(CacheError) -> LMDBCache {
    try directory.open { $0.valueTransforms = transforms }
  }

  private var filesHoldTheSecret: Bool {
    let names = directory.names() + directory.journals + directory.segments
    return names.contains { name in
      (try? Data(contentsOf: directory.url(name)))?.range(of: Data(Self.secret.utf8)) != nil
    }
  }

  enum Write: CaseIterable, Sendable {
    case set, batch, object, many, update, exchange, ifAbsent, ifVersion, load, loadInTask, touch

    fileprivate func make(_ cache: LMDBCache, _ value: String) async throws {
      let key = "key"
      switch self {
      case .set: try cache.set(value, forKey: key)
      case .batch: try await cache.write { $0.set(value, forKey: key) }
      case .object: try cache.setObject(value as NSString, forKey: key)
      case .many: try cache.set([(key: key, value: value)])
      case .update: _ = try blocking { try cache.update(String.self, forKey: key) { $0 = value } }
      case .exchange: _ = try cache.exchange(value, forKey: key)
      case .ifAbsent: #expect(try cache.set(value, forKey: key, if: .absent))
      case .ifVersion:
        try cache.set("something", forKey: key)
        let version = try #require(try cache.entry(forKey: key)).version
        #expect(try cache.set(value, forKey: key, if: .version(version)))
      case .load: _ = try blocking { try cache.value(String.self, forKey: key) { _ in value } }
      case .loadInTask: _ = try await cache.value(String.self, forKey: key) { _ async throws -> String in value }
      case .touch:
        try cache.set(value, forKey: key)
        #expect(try cache.touch(forKey: key, expires: .after(.seconds(600))))
      }
    }
  }

  @Test(arguments: Write.allCases, [false, true]) func everyWriteIsEncrypted(
    _ write: Write, _ isFirst: Bool
  ) async throws {
    var caches = [try open(isFirst ? [Mask()] : [])]
    caches.append(try open(isFirst ? [] : [Mask()]))
    let (masked, plain) = isFirst ? (caches[0], caches[1]) : (caches[1], caches[0])
    try await write.make(masked, Self.secret)
    #expect(!filesHoldTheSecret)
    try await masked.flush()
    #expect(!filesHoldTheSecret)
    masked.memory.removeAll()
    #expect(try masked.value(String.self, forKey: "key") == Self.secret)
    #expect(try await masked.read { try $0.value(String.self, forKey: "key") } == Self.secret)
    #expect(try masked.values(String.self, forKeys: ["key"]) == [Self.secret])
    #expect(errorCode { try plain.value(String.self, forKey: "key") } == .missingTransform)
    for cache in caches { try await cache.close() }
  }

  static let settings: [(name: String, change: @Sendable (inout CacheConfiguration) -> Void)] = [
    ("countLimit", { $0.disk.countLimit = 7 }), ("costLimit", { $0.disk.costLimit = 7 }),
    ("ageLimit", { $0.disk.ageLimit = .seconds(7) }), ("freeSpaceLimit", { $0.disk.freeSpaceLimit = 7 }),
    ("inlineThreshold", { $0.disk.inlineThreshold = 7 }), ("journalSize", { $0.disk.journalSize = 1 << 20 }),
    ("groupCommitInterval", { $0.disk.groupCommitInterval = .seconds(7) }), ("mapSize", { $0.disk.mapSize = 1 << 27 }),
    ("lockTimeout", { $0.disk.lockTimeout = .seconds(7) }), ("clock", { $0.clock = .manual(ManualClock()) }),
  ]

  /// Process-wide settings must agree. Limits may be those of the first opening or the current ones.
  @Test(arguments: settings.indices) func otherSettingsAreRefused(_ index: Int) throws {
    let (name, change) = Self.settings[index]
    let first = try directory.open()
    let error = #expect(throws: CacheError.self) { _ = try directory.open(change) }
    #expect(error?.code == .configurationMismatch)
    #expect(error?.message.contains(name) == true && error?.message.contains(directory.path) == true)
    // The open cache is not affected, and what concerns only the opening may differ.
    try first.set(1, forKey: "key")
    first.disk.countLimit = 20
    for limit in [Int.max, 20] {
      let same = try directory.open {
        $0.disk.countLimit = limit
        $0.disk.recoversFromDamage = false
        $0.disk.verification = .always
        $0.disk.allowsOtherUsers = true
      }
      #expect(try same.value(Int.self, forKey: "key") == 1 && same.disk.countLimit == 20)
      try same.close()
    }
    try first.close()
    // Once it is closed, another setting is accepted.
    let other = try directory.open(change)
    #expect(try other.value(Int.self, forKey: "key") == 1)
    #expect(errorCode { try directory.open() } == .configurationMismatch)
    try other.close()
  }
}
