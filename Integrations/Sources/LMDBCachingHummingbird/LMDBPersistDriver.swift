import Foundation
public import Hummingbird
public import LMDBCaching

/// Hummingbird's `PersistDriver` over an `LMDBCache`: values that survive the server's process. Several server
/// processes on one machine may share them.
///
/// ```swift
/// let persist = LMDBPersistDriver(try LMDBCache(name: "sessions"))
/// let app = Application(router: router, services: [persist])
/// ```
///
/// The driver, as a service of the application, closes the cache when the server shuts down. A stored value survives the
/// death of the process. A trimmed value counts as removed, so give the cache limits that hold all needed values.
///
/// Throws the errors of `PersistDriver`, and `CacheError`. Safe to call from any thread.
public struct LMDBPersistDriver: PersistDriver {
  private let cache: LMDBCache
  private let prefix: String
  private let isShared: Bool
  private let closesCache: Bool

  /// - Parameters:
  ///   - prefix: The prefix of the cache's keys, if others use the cache too.
  ///   - isShared: Whether other processes have the cache open. If so, a set or removal returns once they can see it,
  ///     after a commit. Otherwise they see it after the group-commit interval (50 ms by default) and a commit at most.
  ///   - closesCache: Whether ``shutdown()`` closes the cache, or only commits earlier writes.
  public init(_ cache: LMDBCache, prefix: String = "", isShared: Bool = true, closesCache: Bool = true) {
    self.cache = cache
    self.prefix = prefix
    self.isShared = isShared
    self.closesCache = closesCache
  }

  /// Stores a value under a key that has none. Of several concurrent calls, in any process, only one succeeds.
  ///
  /// - Throws: `PersistError.duplicate`
  public func create<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
    let isStored = try cache.set(
      value, forKey: prefix + key, expires: expires.map { .after($0) } ?? .never, if: .absent)
    if !isStored { throw PersistError.duplicate }
  }

  /// Stores a value. Without `expires` it keeps the expiry of the value it replaces, and may block the thread for a
  /// commit, as ``create(key:value:expires:)`` may.
  public func set<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
    try cache.set(value, forKey: prefix + key, expires: expires.map { .after($0) } ?? .unchanged)
    // Without changes of its own it waits for the set.
    if isShared { try await cache.write(waitsForCommit: true) { _ in } }
  }

  /// Returns the value, or `nil` if the key has none.
  ///
  /// - Throws: `PersistError.invalidConversion` if it has another type.
  public func get<Object: Codable & Sendable>(key: String, as type: Object.Type) async throws -> Object? {
    do throws(CacheError) {
      return try cache.value(type, forKey: prefix + key)
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { throw PersistError.invalidConversion }
      throw error
    }
  }

  /// Returns the value with its remaining lifetime, which is `nil` if it never expires.
  public func getWithTTL<Object: Codable & Sendable>(
    key: String, as type: Object.Type
  ) async throws -> (object: Object, ttl: Duration?)? {
    while true {
      let entry = try cache.entry(forKey: prefix + key)
      guard let object = try await get(key: key, as: type) else { return nil }
      // Value and expiry must be from the same version of the entry.
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
