/// The importing cache's properties for a source.
struct SourceContext {
  /// Bytes. Longer values are refused and need not be read.
  let maximumValueSize: Int
  /// Whether the cache has a closure for objects that are not keyed archives.
  let isUnarchivedByClosure: Bool
  /// The cache's present or future directory, which may lie in the source.
  let cacheDirectory: String?
}
