import LMDBCaching

/// A store to import from. Read once, on one thread.
protocol EntrySource {
  /// The number of entries, if known; may be an estimate, for progress only.
  var count: Int? { get }

  /// The next entry, or `nil` at the end. A bad entry does not end the source.
  ///
  /// - Throws: A failure that ends the import, keeping earlier entries.
  mutating func next() throws(ImportError) -> SourceStep?

  /// The value of the entry that ``next()`` returned last.
  mutating func value() throws(EntryFailure) -> ImportedValue
}

enum SourceStep {
  case entry(SourceEntry)
  /// An entry that cannot be taken.
  case refused(ImportRefusal)
  /// A remark about the source as a whole.
  case remark(ImportRefusal)
}

/// An entry's properties, known before its value is read. Times are in nanoseconds since 1970.
struct SourceEntry {
  let key: String
  /// `nil` if unknown.
  var created: Int64?
  /// `nil` if unknown.
  var lastAccess: Int64?
  /// 0 for never.
  var expires: Int64 = 0
  /// The failure of a part of an entry that is otherwise taken.
  var remainder: EntryFailure?
}
