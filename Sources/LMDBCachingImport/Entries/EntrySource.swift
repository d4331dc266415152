import LMDBCaching

/// A store that entries are taken from. It is read only, on one thread, from its beginning to its end.
protocol EntrySource {
  /// How many entries there are, where that is known; an estimate, for the progress alone.
  var count: Int? { get }

  /// The next entry, or `nil` at the end. What is wrong with one entry does not end it.
  ///
  /// - Throws: what ends the import. What was returned before is taken nonetheless.
  mutating func next() throws(ImportError) -> SourceStep?

  /// The value of the entry that ``next()`` returned last.
  mutating func value() throws(EntryFailure) -> ImportedValue
}

enum SourceStep {
  case entry(SourceEntry)
  /// There is an entry, of which nothing can be taken.
  case refused(ImportRefusal)
  /// Something that is worth to be known, and of no entry.
  case remark(ImportRefusal)
}

/// What is known of an entry before its value is read. Times are in nanoseconds since 1970.
struct SourceEntry {
  let key: String
  /// `nil`: the source does not say.
  var created: Int64?
  /// `nil`: the source does not say.
  var lastAccess: Int64?
  /// 0: never.
  var expires: Int64 = 0
  /// What of the entry is not taken, though it is.
  var remainder: EntryFailure?
}
