import LMDB

extension CacheReader {
  /// A page of a list.
  package struct Page: Sendable {
    package var entries: [CacheEntry] = []
    /// Where the next one begins; `nil`: there is none.
    package var next: EntryPlace?
  }

  /// What is known of the live entry under a key, or `nil` if there is none. Its checksum is not looked at.
  package func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
      try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) in
        try snapshot.find(key) { (found) throws(ReadingFailure) in found.entry }
      }
    }
  }

  /// The live entries whose keys start with `prefix`, as of one state: those with keys of 1 to 511 bytes in the byte order of
  /// these, then the others in an order of their own.
  ///
  /// - Parameters:
  ///   - place: Where the page before ended; `nil` for the first one.
  ///   - limit: How many records are looked at, at least 1. A page may be empty and not be the last one, and has fewer
  ///     entries where others commit all the time, or keys are long: it ends with 4 MiB of them.
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

  /// Calls `body` with the entries page by page, until it returns `false`. Each page is of another state.
  ///
  /// - Parameter all: Whether those are among them that have expired and are not removed yet.
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

  /// What the elements of one page may take, in bytes, before its last one.
  private static let bytesAtOnce = 4 << 20

  /// Calls `note` with the records of a page, which adds to the elements, and to the bytes that they take.
  func scan<Element>(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection,
    _ note: (FoundRecord, inout [Element], inout Int) throws(ReadingFailure) -> Void
  ) throws(CacheError) -> (elements: [Element], next: EntryPlace?) {
    try look("Listing \(path)") { (snapshot) throws(ReadingFailure) in
      // What is read at once becomes shorter the faster others write.
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
