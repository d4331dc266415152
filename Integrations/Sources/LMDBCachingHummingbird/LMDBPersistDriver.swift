import Foundation
public import Hummingbird
public import LMDBCaching

/// Values that outlive a request and the server's process: Hummingbird's `PersistDriver` over an `LMDBCache`. Several
/// server processes on one machine may share them.
///
/// ```swift
/// let persist = LMDBPersistDriver(try LMDBCache(name: "sessions"))
/// let app = Application(router: router, services: [persist])
/// ```
///
/// As one of the application's services it closes the cache when the server shuts down. A value that was set survives the
/// death of the process; one that is not in the cache any more, since it was trimmed, is as one that was removed: give the
/// cache limits that hold what is needed.
///
/// Errors are those of `PersistDriver`, and `CacheError`. Threads: any.
public struct LMDBPersistDriver: PersistDriver {
  private let cache: LMDBCache
  private let prefix: String
  private let isShared: Bool
  private let closesCache: Bool

  /// - Parameters:
  ///   - prefix: What the cache's keys begin with, where others use the cache too.
  ///   - isShared: Whether other processes have the cache open: what is set or removed is then there for them when the call
  ///     returns. It takes as long as a commit; otherwise they see it up to the group-commit interval (50 ms by default)
  ///     and a commit later.
  ///   - closesCache: Whether ``shutdown()`` closes the cache. Otherwise it commits what was written.
  public init(_ cache: LMDBCache, prefix: String = "", isShared: Bool = true, closesCache: Bool = true) {
    self.cache = cache
    self.prefix = prefix
    self.isShared = isShared
    self.closesCache = closesCache
  }

  /// Stores a value under a key that has none. Of several that do it at once, in any process, one succeeds.
  ///
  /// - Throws: `PersistError.duplicate`
  public func create<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
    let isStored = try cache.setValueIfAbsent(
      value, forKey: prefix + key, expires: expires.map { .after($0) } ?? .never)
    if !isStored { throw PersistError.duplicate }
  }

  /// Stores a value. Without `expires` one that is replaced passes its expiry on.
  public func set<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
    try await cache.set(
      value, forKey: prefix + key, expires: expires.map { .after($0) } ?? .unchanged, waitsForCommit: isShared)
  }

  /// Returns the value, or `nil` if there is none.
  ///
  /// - Throws: `PersistError.invalidConversion` for one of another type.
  public func get<Object: Codable & Sendable>(key: String, as type: Object.Type) async throws -> Object? {
    do throws(CacheError) {
      return try cache.value(type, forKey: prefix + key)
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { throw PersistError.invalidConversion }
      throw error
    }
  }

  /// Returns the value with the time that is left to it; `nil` for ever.
  public func getWithTTL<Object: Codable & Sendable>(
    key: String, as type: Object.Type
  ) async throws -> (object: Object, ttl: Duration?)? {
    while true {
      let entry = try cache.entry(forKey: prefix + key)
      guard let object = try await get(key: key, as: type) else { return nil }
      // Both are of one entry.
      guard try cache.entry(forKey: prefix + key)?.version == entry?.version else { continue }
      let ttl = entry?.expiration.map { max(.zero, Duration.seconds($0.timeIntervalSinceNow)) }
      return (object, ttl)
    }
  }

  public func remove(key: String) async throws {
    let key = prefix + key
    try await cache.write(waitsForCommit: isShared) { $0.removeValue(forKey: key) }
  }

  public func shutdown() async throws {
    if closesCache { try await cache.close() } else { try await cache.flush() }
  }
}
