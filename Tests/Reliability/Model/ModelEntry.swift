struct ModelEntry {
  var value: ModelValue
  /// Nanoseconds since 1970; nil: never.
  var expires: Int64?
  /// nil means the size of key and archive, which is unknown for some archives.
  var cost: Int?
  /// When it was set, and the latest time at which it may have been read.
  var written: Int64
  var used: Int64
  var tags: Set<String> = []
}
