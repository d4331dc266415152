import Foundation
import LMDB

/// A snapshot of the disk tier, valid in the body of ``LMDBCache/read(_:)``.
public struct CacheSnapshot: ~Copyable {
  private let cache: DiskCache
  private let transaction: ReadTransaction

  init(_ cache: DiskCache, _ transaction: borrowing ReadTransaction) {
    self.cache = cache
    self.transaction = transaction.alias()
  }

  private var store: DiskStore { cache.store }
  private var reader: RecordReader { cache.reader }

  /// Returns the value under `key` in the snapshot, or `nil` if it is missing or has expired.
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

  /// Returns whether a live entry existed under `key`.
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
