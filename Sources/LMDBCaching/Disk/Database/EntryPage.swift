/// A part of a listing.
struct EntryPage {
  /// Where a page begins.
  struct Start {
    /// Whether it is one of keys that LMDB holds under digests: they come after all others.
    var isLong = false
    /// The database's key of the last record of the page before; `nil` at the beginning.
    var last: [UInt8]?
  }

  /// May be empty even if there is a next page.
  var entries: [CacheEntry] = []
  /// Where the next page begins; `nil` for the last one.
  var next: Start?
}
