/// An entry as the cache has to have it.
struct ModelEntry {
  var value: ModelValue
  /// Nanoseconds since 1970; nil: never.
  var expires: Int64?
  /// nil: the size of key and archive, where the archive's is not known.
  var cost: Int?
  /// When it was set, and when it may have been read last.
  var written: Int64
  var used: Int64
  var tags: Set<String> = []
}
