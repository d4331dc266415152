import LMDB

extension CacheReader {
  package struct Page: Sendable {
    package var entries: [CacheEntry] = []
    /// The start of the next page; `nil` on the last.
    package var next: EntryPlace?
  }

  /// The live entry under a key, without verifying its checksum.
  package func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
      try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) in
        try snapshot.find(key) { (found) throws(ReadingFailure) in found.entry }
      }
    }
  }

  /// A page of the live entries whose keys start with `prefix`, from one state. Keys of 1 to 511 bytes come first, in
  /// byte order; the others follow in database order.
  ///
  /// - Parameters:
  ///   - place: The end of the previous page; `nil` for the first.
  ///   - limit: The number of records to examine, at least 1. Pages may be shorter, or empty, and end at 4 MiB.
  package func page(
    withPrefix prefix: String = "", after place: EntryPlace? = nil, limit: Int
  ) throws(CacheError) -> Page {
    try page(prefix, after: place, limit: limit, .live)
  }

  private func page(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection
  ) throws(CacheError) -> Page {
    let (entries, next) = try scan(prefix, after: place, limit: limit, selection) {
      (found, entries: inout [CacheEntry], bytes) throws(ReadingFailure) in
      entries.append(found.entry)
      bytes += entries[entries.count - 1].key.utf8.count
    }
    return Page(entries: entries, next: next)
  }

  /// Calls `body` with each page of entries, each from its own state, until it returns `false`.
  ///
  /// - Parameter all: Whether to include expired entries that are not yet removed.
  package func forEachPage(
    withPrefix prefix: String = "", pageSize: Int = 1_000, all: Bool = false, _ body: ([CacheEntry]) throws -> Bool
  ) throws {
    var place: EntryPlace?
    repeat {
      let page = try page(prefix, after: place, limit: pageSize, all ? .all : .live)
      if try !page.entries.isEmpty && !body(page.entries) { return }
      place = page.next
    } while place != nil
  }

  /// The maximum size of a page's elements before the last one.
  private static let bytesAtOnce = 4 << 20

  /// Calls `note` with each record of a page, to append elements and add their bytes.
  func scan<Element>(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection,
    _ note: (FoundRecord, inout [Element], inout Int) throws(ReadingFailure) -> Void
  ) throws(CacheError) -> (elements: [Element], next: EntryPlace?) {
    try look("Listing \(path)") { (snapshot) throws(ReadingFailure) in
      // The faster others write, the less is read at once.
      let limit = max(1, min(max(1, limit), 1 << 20) >> min(20, 2 * snapshot.attempt))
      var (elements, bytes): ([Element], Int) = ([], 0)
      let next = try withUTF8Bytes(of: prefix) { (prefix) throws(ReadingFailure) in
        try snapshot.scan(prefix, after: place, limit: limit, selection) { (found) throws(ReadingFailure) in
          try note(found, &elements, &bytes)
          return bytes < Self.bytesAtOnce
        }
      }
      return (elements, next)
    }
  }
}
