import Foundation
import LMDB

/// The disk tier as it was at one moment; lent to the body of ``LMDBCache/read(_:)`` and not usable outside it.
public struct CacheSnapshot: ~Copyable {
  /// Alone, as in `CacheBatch`.
  private let cache: DiskCache
  private let transaction: ReadTransaction

  init(_ cache: DiskCache, _ transaction: borrowing ReadTransaction) {
    self.cache = cache
    self.transaction = transaction.alias()
  }

  private var store: DiskStore { cache.store }
  private var reader: RecordReader { cache.reader }

  /// Returns the value that was stored under `key`, or `nil` if there was none or it has expired.
  ///
  /// - Throws: as ``LMDBCache/value(_:forKey:)``.
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    try CacheKey.with(key) { (key) throws(CacheError) in
      guard let record = try reader.readData(key, in: transaction) else { return nil }
      return try record.payload.withBytes { (bytes) throws(CacheError) in
        try ValueArchiver.value(type, from: bytes, format: record.header.format, forKey: key.string)
      }
    }
  }

  /// Whether there was an entry under `key` that has not expired.
  public func contains(_ key: String) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      guard let header = try store.header(key, in: transaction) else { return false }
      return !header.isExpired(at: store.clock.now)
    }
  }

  /// The live entries whose keys start with `prefix`, in byte order of their keys.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try store.entries(withPrefix: prefix, in: transaction)
  }
}
