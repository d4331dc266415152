/// What a source has to know of who imports from it.
struct SourceContext {
  /// Bytes. Longer values are refused, and need not be read.
  let maximumValueSize: Int
  /// Whether the cache has a closure for objects that are no keyed archives.
  let isUnarchivedByClosure: Bool
  /// Where the cache is, or will be, which may be in the source.
  let cacheDirectory: String?
}
