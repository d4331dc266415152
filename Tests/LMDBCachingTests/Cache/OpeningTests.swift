import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct OpeningTests {
  let directory = CacheDirectory()

  @Test func everyPathToADirectoryIsOneStore() throws {
    let (path, link) = (directory.path + "/cache", directory.path + "/link")
    let first = try LMDBCache(directory: URL(fileURLWithPath: path), configuration: CacheDirectory.configuration())
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    try first.set("v", forKey: "key")
    for other in [path + "/", path + "/.", directory.path + "/./cache", link, link + "/../cache"] {
      let store = try DiskStore.open(directory: other, configuration: CacheDirectory.configuration())
      #expect(store === first.store)
      try store.release()
    }
    #expect(try first.value(String.self, forKey: "key") == "v")
    try first.close()
  }

  #if os(Linux)
    /// Uses a child process, because the environment is global.
    @Test func namedCachesBelongToTheProgram() async {
      await #expect(processExitsWith: .success) {
        let directory = CacheDirectory()
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] { unsetenv(variable) }
        setenv("HOME", directory.path, 1)
        let program = ProcessInfo.processInfo.processName
        for (place, path) in [(UserDirectory.caches, ".cache"), (.data, ".local/share")] {
          let cache = try LMDBCache(name: "profiles", in: place)
          #expect(cache.directory.path == "\(directory.path)/\(path)/\(program)/profiles")
          try cache.close()
        }
      }
    }
  #endif

  @Test(arguments: [false, true]) func temporaryCachesLeaveNothing(_ isClosed: Bool) throws {
    let clock = ManualClock()
    var configuration = CacheConfiguration()
    configuration.clock = .manual(clock)
    var cache: LMDBCache? = try .temporary(configuration: configuration)
    let path = try #require(cache?.directory.path)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
    #expect(try LMDBCache.temporary().directory.path != path)
    configuration.durability = .fast
    let other = try LMDBCache(directory: URL(fileURLWithPath: path), configuration: configuration)
    try cache?.set(Data(count: 100_000), forKey: "long", expires: .after(.seconds(60)))
    if isClosed { try cache?.close() }
    cache = nil
    #expect(try other.value(Data.self, forKey: "long")?.count == 100_000)
    clock.advance(by: .seconds(61))
    #expect(try other.value(Data.self, forKey: "long") == nil)
    try other.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(arguments: UserDirectory.allCases, ["", ".", "..", "a/b", "a\0"]) func aNameIsOneComponent(
    _ place: UserDirectory, _ name: String
  ) {
    #expect(errorCode { try LMDBCache(name: name, in: place) } == .invalidArgument)
  }

  static let uses: [@Sendable (LMDBCache) throws -> Void] = [
    { try $0.set(2, forKey: "key") }, { try $0.setObject(NSString(string: "2"), forKey: "key") },
    { _ = try $0.value(Int.self, forKey: "key") }, { _ = try $0.object(forKey: "key") },
    { _ = try $0.value(Int.self, forKey: "key", load: { _ in 3 }) }, { try $0.removeValue(forKey: "key") },
    { try $0.removeAll() }, { try $0.removeAll(.prefix("k")) }, { try $0.removeAll(.tag("t")) },
    { _ = try $0.entries() }, { try $0.write { $0.set(4, forKey: "key") } }, { try $0.read { _ in } },
    { _ = try $0.withBytes(forKey: "key") { _ in } }, { try $0.trim(to: .count(0)) }, { try $0.trim(to: .cost(0)) },
    { try $0.trim(to: .age(.zero)) }, { try $0.flush() }, { _ = try $0.disk.size }, { try $0.disk.trim(to: .limits) },
    { _ = try $0.contains("key") }, { _ = try $0.count }, { _ = try $0.totalCost },
    { _ = try $0.values(Int.self, forKeys: ["key"]) }, { try $0.increment(forKey: "key") },
    { _ = try $0.set(1, forKey: "key", if: .absent) }, { _ = try $0.entry(forKey: "key") },
    { try $0.touch(forKey: "key", expires: .never) },
  ]

  @Test(arguments: [true, false]) func aClosedCacheRefusesEverything(_ anotherIsOpen: Bool) throws {
    let other = anotherIsOpen ? try directory.open() : nil
    let cache = try directory.open()
    try cache.set(1, forKey: "key")
    try cache.close()
    try cache.close()
    for (index, use) in Self.uses.enumerated() { #expect(errorCode { try use(cache) } == .closed, "\(index)") }
    #expect(!cache.containsObject(forKey: "key"))
    if let other {
      #expect(try other.value(Int.self, forKey: "key") == 1)
      try other.close()
    }
  }

  @Test func aCacheThatIsReleasedIsClosed() throws {
    try directory.open(neverCommitting).set(1, forKey: "key")
    #expect(directory.journals.isEmpty)
    let cache = try directory.open()
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  @Test func arguments() throws {
    let changes: [@Sendable (inout CacheConfiguration) -> Void] = [
      { $0.disk.inlineThreshold = 0 }, { $0.disk.inlineThreshold = (1 << 30) + 1 },
      { $0.disk.journalSize = (1 << 16) - 1 }, { $0.disk.journalSize = (1 << 30) + 1 },
      { $0.disk.mapSize = 1 << 19 }, { $0.disk.mapSize = -1 }, { $0.disk.mapSize = .max },
      { $0.disk.groupCommitInterval = .milliseconds(-1) }, { $0.disk.groupCommitInterval = .seconds(Int64.max) },
      { $0.disk.lockTimeout = .zero }, { $0.disk.lockTimeout = .seconds(Int64.max) },
      { $0.memory.countLimit = -1 }, { $0.memory.costLimit = -1 }, { $0.memory.ageLimit = .seconds(-1) },
      { $0.disk.countLimit = -1 }, { $0.disk.costLimit = -1 }, { $0.disk.ageLimit = .seconds(-1) },
      { $0.disk.freeSpaceLimit = -1 },
    ]
    for change in changes { #expect(errorCode { try directory.open(change) } == .invalidArgument) }
    #expect(directory.names().isEmpty)
    #expect(errorCode { try LMDBCache(directory: URL(string: "https://example.org/")!) } == .invalidArgument)
    for duration in [Duration.seconds(Int64.max), .nanoseconds(Int64.max)] {
      let cache = try directory.open {
        $0.memory.ageLimit = duration
        $0.disk.ageLimit = duration
      }
      try cache.set(1, forKey: "old")
      try cache.disk.trim(to: .limits)
      #expect(try cache.value(Int.self, forKey: "old") == 1 && cache.withoutMemory.contains("old"))
      try cache.close()
    }
    let cache = try directory.open()
    #expect(errorCode { try cache.set(1, forKey: "key", cost: -1) } == .invalidArgument)
    #expect(errorCode { try cache.write { $0.set(1, forKey: "key", cost: -1) } } == .invalidArgument)
    #expect(errorCode { try cache.set(1, forKey: "key", cost: -1, if: .absent) } == .invalidArgument)
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try cache.set(1, forKey: "key")
    #expect(errorCode { try cache.increment(forKey: "key", by: .max) } == .invalidArgument)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  enum Foreign: CaseIterable {
    case newerVersion, otherDatabase

    func make(in directory: CacheDirectory) throws {
      switch self {
      case .newerVersion:
        let cache = try directory.open()
        try cache.set("v", forKey: "key")
        try cache.flush()
        try OpeningTests.rewriteMetadata(cache.store.environment) { $0[8] = UInt8(CacheMetadata.version + 1) }
        try cache.close()
      case .otherDatabase:
        var options = Environment.Options()
        options.mapSize = 64 << 20
        let environment = try Environment.open(directory: directory.path, options: options)
        let transaction = try environment.beginWrite()
        try [UInt8]("foreign".utf8).withBytes { (bytes) throws(LMDBError) in
          try transaction.put(bytes, forKey: bytes)
        }
        try transaction.commit()
        environment.close()
      }
    }
  }

  @Test(arguments: Foreign.allCases) func foreignFilesAreErrorsAndLeftAlone(_ foreign: Foreign) throws {
    try foreign.make(in: directory)
    let before = directory.contents("data.mdb")
    let code: CacheError.Code = foreign == .newerVersion ? .unsupportedVersion : .corruptedRecord
    for durability in Durability.allCases {
      #expect(errorCode { try directory.open { $0.durability = durability } } == code)
    }
    #expect(errorCode { try CacheReader(directory: directory.url) } == code)
    #expect(directory.contents("data.mdb") == before)
    #expect(!directory.names().contains(FastSession.name))
  }

  // MARK: Fast caches

  /// From another boot, and truncated.
  private static let marks = ["LMDBCFS1" + String(repeating: "x", count: 16), "", "LMDBCFS1", "LMD"]

  /// The model kills fast caches in one boot.
  @Test func aMarkOfAFastSessionDiscardsNoOtherCache() throws {
    try directory.open().close()
    directory.write(Data(Self.marks[0].utf8), to: FastSession.name)
    #expect(errorCode { try directory.open { $0.durability = .fast } } == .durabilityMismatch)
    try directory.open().close()
    #expect(!directory.names().contains(FastSession.name))
  }

  /// A `.fast` cache that was open during a system crash is not trusted. Only an opening with `.fast` and recovery
  /// discards it; any other fails and changes nothing.
  @Test(arguments: [
    (Durability.ordered, true), (.ordered, false), (.full, true), (.full, false), (.fast, false),
  ])
  func onlyFastOpeningsDiscardAFastCacheOfAnotherBoot(_ asked: Durability, recovers: Bool) throws {
    let cache = try directory.open { $0.durability = .fast }
    try cache.set("v", forKey: "key")
    try cache.set(Data(count: 5_000), forKey: "large")
    try cache.flush()
    let crashed = directory.crashed(cache)
    #expect(crashed.names().contains(FastSession.name))
    try cache.close()
    #expect(!directory.names().contains(FastSession.name))
    for mark in Self.marks {
      let place = crashed.copy()
      place.write(Data(mark.utf8), to: FastSession.name)
      let before = try TreeImage(place.path)
      let error = #expect(throws: CacheError.self) {
        try place.open {
          $0.durability = asked
          $0.disk.recoversFromDamage = recovers
        }
      }
      #expect(error?.code == (asked == .fast ? .damagedDatabase : .durabilityMismatch))
      #expect(error?.message.contains(place.path) == true && error?.message.contains("Nothing was changed") == true)
      #expect(errorCode { try CacheReader(directory: place.url) } == .damagedDatabase)
      #expect(before.losses(in: try TreeImage(place.path)) == [])
      let rebuilt = try place.open { $0.durability = .fast }
      #expect(try rebuilt.entries().isEmpty && place.segments.isEmpty)
      try rebuilt.close()
    }
  }

  static func rewriteMetadata(_ environment: Environment, _ change: (inout [UInt8]) -> Void) throws {
    let transaction = try environment.beginWrite()
    let bytes = try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try transaction.withValue(forKey: key) { Array($0) }
    }
    var changed = bytes!
    change(&changed)
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try changed.withBytes { (value) throws(LMDBError) in try transaction.put(value, forKey: key) }
    }
    try transaction.commit()
  }
}
