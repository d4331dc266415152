import Foundation
import LMDB

/// A snapshot of the disk tier, valid in the body of ``LMDBCache/read(_:)``.
public struct CacheSnapshot: ~Copyable {
  private let cache: LMDBCache
  private let transaction: ReadTransaction

  init(_ cache: LMDBCache, _ transaction: borrowing ReadTransaction) {
    self.cache = cache
    self.transaction = unsafe transaction.alias()
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
      guard let header = try store.database.header(key, in: transaction) else { return false }
      return !header.isExpired(at: store.clock.now)
    }
  }

  /// The live entries whose keys start with `prefix`, in byte order of their keys.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try store.database.entries(withPrefix: prefix, at: store.clock.now, in: transaction)
  }
}

/// The entries under a prefix, read page by page, from ``LMDBCache/entries(withPrefix:pageSize:)``.
///
/// ```swift
/// for try await entry in cache.entries(withPrefix: "image/", pageSize: 1_000) where entry.size > 1 << 20 {
///   try cache.removeValue(forKey: entry.key)
/// }
/// ```
///
/// Each page is read in its own transaction on a background queue, when the previous page is used up. Slow loops do not
/// grow the files, and memory holds one page. The list is not a snapshot: an entry that changes during the loop appears
/// once or not at all, every other entry once.
public struct CacheEntries: AsyncSequence, Sendable {
  fileprivate let cache: LMDBCache
  fileprivate let prefix: String
  fileprivate let pageSize: Int

  init(_ cache: LMDBCache, prefix: String, pageSize: Int) {
    self.cache = cache
    self.prefix = prefix
    self.pageSize = Swift.max(1, pageSize)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(entries: self) }

  /// Returns the entries in turn.
  public struct Iterator: AsyncIteratorProtocol {
    private let entries: CacheEntries
    private var page = EntryPage()
    private var index = 0
    private var hasBegun = false

    fileprivate init(entries: CacheEntries) { self.entries = entries }

    /// The next entry, or `nil` at the end or when the task is cancelled.
    ///
    /// - Throws: `.closed`, `.storageFailed`; `.notCommitted` if earlier writes cannot be committed.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(CacheError) -> CacheEntry? {
      while index == page.entries.count {
        if Task.isCancelled || hasBegun && page.next == nil { return nil }
        let place = page.next
        page = try await entries.cache.background.perform(.aside) { [entries] () throws(CacheError) in
          try entries.cache.page(withPrefix: entries.prefix, after: place, length: entries.pageSize)
        }
        hasBegun = true
        index = 0
      }
      defer { index += 1 }
      return page.entries[index]
    }
  }
}

extension LMDBCache {
  /// Reads from one consistent snapshot that includes all earlier writes of this process.
  ///
  /// Keep `body` short: an open snapshot keeps pages from reuse, and the file grows. It reads the disk tier only and
  /// counts no access.
  ///
  /// - Throws: ``CacheError``, or any error of `body`. `.notCommitted` while a write cannot be committed,
  ///   since the snapshot would be outdated.
  public func read<R>(_ body: (borrowing CacheSnapshot) throws -> R) throws -> R {
    try checkOpen()
    return try store.withSnapshot { transaction in
      let snapshot = CacheSnapshot(self, transaction)
      return Result { try body(snapshot) }
    }.get()
  }

  /// The live entries whose keys start with `prefix`, read page by page: keys of 1 to 511 bytes in byte order, then the
  /// others.
  ///
  /// - Parameter pageSize: How many records are read at once, 1 or more.
  public func entries(withPrefix prefix: String = "", pageSize: Int) -> CacheEntries {
    CacheEntries(self, prefix: prefix, pageSize: pageSize)
  }

  package func forEachPage(
    withPrefix prefix: String = "", pageSize: Int, _ body: ([CacheEntry]) throws -> Bool
  ) throws {
    var place: EntryPlace?
    repeat {
      let page = try page(withPrefix: prefix, after: place, length: pageSize)
      if try !page.entries.isEmpty && !body(page.entries) { return }
      place = page.next
    } while place != nil
  }

  fileprivate func page(
    withPrefix prefix: String, after place: EntryPlace?, length: Int
  ) throws(CacheError) -> EntryPage {
    try checkOpen()
    return try store.page(withPrefix: prefix, after: place, length: length)
  }
}
