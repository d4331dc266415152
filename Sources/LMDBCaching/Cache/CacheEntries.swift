/// The entries under a prefix, read page by page: what ``LMDBCache/entries(withPrefix:pageSize:)`` returns.
///
/// ```swift
/// for try await entry in cache.entries(withPrefix: "image/", pageSize: 1_000) where entry.size > 1 << 20 {
///   try cache.removeValue(forKey: entry.key)
/// }
/// ```
///
/// Each page is read in a transaction of its own, on a background queue, when the one before has been given: so the files
/// do not grow however long the loop takes, and no more than a page is in memory. It is not one moment that is listed: an
/// entry that is there all the time is given once, one that is written or removed meanwhile once or not at all.
public struct CacheEntries: AsyncSequence, Sendable {
  public typealias Element = CacheEntry
  public typealias Failure = CacheError

  private let cache: DiskCache
  private let prefix: String
  private let pageSize: Int

  init(_ cache: DiskCache, prefix: String, pageSize: Int) {
    self.cache = cache
    self.prefix = prefix
    self.pageSize = Swift.max(1, pageSize)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(cache, prefix, pageSize) }

  /// Gives one entry after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let cache: DiskCache
    private let prefix: String
    private let pageSize: Int
    private var page = EntryPage()
    private var index = 0
    private var hasBegun = false

    fileprivate init(_ cache: DiskCache, _ prefix: String, _ pageSize: Int) {
      self.cache = cache
      self.prefix = prefix
      self.pageSize = pageSize
    }

    /// The next entry, or `nil` if there is none, or the task was cancelled.
    ///
    /// - Throws: `.closed`, `.storageFailed`, `.notCommitted` if what was written before cannot be committed.
    public mutating func next() async throws(CacheError) -> CacheEntry? { try await next(isolation: nil) }

    /// The next entry, or `nil` if there is none, or the task was cancelled.
    ///
    /// - Throws: as the other form.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(CacheError) -> CacheEntry? {
      while index == page.entries.count {
        if Task.isCancelled || hasBegun && page.next == nil { return nil }
        let start = page.next
        page = try await cache.background.perform(.aside) {
          [cache, prefix, pageSize] () throws(CacheError) in
          try cache.page(withPrefix: prefix, from: start, length: pageSize)
        }
        hasBegun = true
        index = 0
      }
      defer { index += 1 }
      return page.entries[index]
    }
  }
}

extension DiskCache {
  fileprivate func page(
    withPrefix prefix: String, from start: EntryPage.Start?, length: Int
  ) throws(CacheError) -> EntryPage {
    try checkOpen()
    return try store.page(withPrefix: prefix, from: start, length: length)
  }

  /// Calls `body` with the entries page by page, in the same order, until it returns `false`.
  package func forEachPage(
    withPrefix prefix: String = "", pageSize: Int, _ body: ([CacheEntry]) throws -> Bool
  ) throws {
    var start: EntryPage.Start?
    repeat {
      let page = try page(withPrefix: prefix, from: start, length: pageSize)
      if try !page.entries.isEmpty && !body(page.entries) { return }
      start = page.next
    } while start != nil
  }

  /// See ``LMDBCache/entries(withPrefix:pageSize:)``.
  public func entries(withPrefix prefix: String = "", pageSize: Int) -> CacheEntries {
    CacheEntries(self, prefix: prefix, pageSize: pageSize)
  }
}

extension LMDBCache {
  /// The live entries whose keys start with `prefix`, as a sequence that reads them page by page: those whose keys
  /// have 1 to 511 bytes in the byte order of their keys, then the others.
  ///
  /// - Parameter pageSize: How many records are read at once, at least 1.
  public func entries(withPrefix prefix: String = "", pageSize: Int) -> CacheEntries {
    diskCache.entries(withPrefix: prefix, pageSize: pageSize)
  }
}
