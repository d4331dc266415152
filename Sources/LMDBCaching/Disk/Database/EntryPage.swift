struct EntryPage {
  struct Start {
    /// Whether the page is among the long keys, stored under digests, which come last.
    var isLong = false
    /// The database key of the previous page's last record; `nil` at the start.
    var last: [UInt8]?
  }

  /// May be empty even if there is a next page.
  var entries: [CacheEntry] = []
  /// `nil` on the last page.
  var next: Start?
}
