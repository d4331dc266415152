import Foundation
import LMDB
import Logging
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct LoadFailureTests {
  let directory = CacheDirectory()
  let events = EventLog.Events()

  func open(_ configure: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open {
      neverCommitting(&$0)
      $0.logger = EventLog.logger(events)
      configure(&$0)
    }
  }

  func logged(_ message: String) -> [EventLog.Event] { events.current.filter { "\($0.message)" == message } }

  func value<V: Codable & Sendable>(
    _ type: V.Type, _ cache: LMDBCache, isTask: Bool, load: @escaping @Sendable () throws -> V
  ) async throws -> V {
    if isTask { return try await cache.value(type, forKey: "key") { _ async throws -> V in try load() } }
    return try blocking { try cache.value(type, forKey: "key") { _ in try load() } }
  }

  enum Harm: String, CaseIterable {
    case anotherType, bytes, format, flippedBit
  }

  @Test(arguments: Harm.allCases, [false, true]) func unreadableEntriesAreReplaced(
    _ harm: Harm, _ isTask: Bool
  ) async throws {
    var cache = try open()
    try cache.set(["value of the key": 1], forKey: "key")
    if harm == .anotherType { try cache.set("text", forKey: "key") }
    try await cache.close()
    switch harm {
    case .anotherType: break
    case .bytes: try Intruder(directory: directory).change("key") { $0.payload = [0xFF, 0xFF] }
    case .format: try Intruder(directory: directory).change("key") { $0.header.format = ArchiveFormat(rawValue: 99) }
    case .flippedBit:
      directory.damage { data in
        if let place = data.range(of: Data("value of the key".utf8)) { data[place.lowerBound] ^= 1 }
      }
    }
    cache = try open()
    #expect(throws: CacheError.self) { try cache.value([String: Int].self, forKey: "key") }
    let before = cache.statistics
    #expect(try await value([String: Int].self, cache, isTask: isTask) { ["loaded": 2] } == ["loaded": 2])
    let statistics = cache.statistics
    #expect(statistics.misses == before.misses + 1 && statistics.diskHits == before.diskHits)
    cache.memory.removeAll()
    #expect(try cache.value([String: Int].self, forKey: "key") == ["loaded": 2])
    #expect(try await value([String: Int].self, cache, isTask: isTask) { throw Failure() } == ["loaded": 2])
    try await cache.close()
    let warnings = logged("cache entry cannot be read, and is loaded anew")
    #expect(!warnings.isEmpty && warnings.allSatisfy { $0.level == .warning })
  }

  struct Failure: Error {}

  struct Unencodable: Codable, Sendable, Equatable {
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws { throw Failure() }
  }

  /// The caller gets the value, and the log the error.
  @Test(arguments: [false, true]) func valuesThatCannotBeStoredAreReturned(_ isTask: Bool) async throws {
    let cache = try open()
    #expect(try await value(Unencodable.self, cache, isTask: isTask) { Unencodable() } == Unencodable())
    #expect(
      try blocking {
        try cache.value(Int.self, forKey: "key") { (context: inout LoadContext) -> Int in
          context.cost = -1
          return 5
        }
      } == 5)
    #expect(
      try await cache.value(Int.self, forKey: "key") { (context: inout LoadContext) async throws -> Int in
        context.tags = (0..<65).map { "tag \($0)" }
        return 5
      } == 5)
    #expect(try cache.count == 0)
    try await cache.close()
    let errors = logged("loaded value not stored")
    #expect(errors.count == 3 && errors.allSatisfy { $0.level == .error })
  }
}
