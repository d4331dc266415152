/// What has to be true of an entry for a write to be made.
enum EntryCondition {
  /// Nothing was written under the key since this was noted: by this process, which is alone, or by others.
  case unchanged(version: UInt64, position: UInt64)
  /// The entry is the one with this stamp; 0: there is none that has not expired.
  case stamp(UInt64)

  /// Whether the write is a transaction; without other processes it is a frame of the journal.
  var isOfTransaction: Bool {
    switch self {
    case .unchanged: false
    case .stamp: true
    }
  }
}
