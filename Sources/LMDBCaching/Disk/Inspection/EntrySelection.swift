package enum EntrySelection {
  /// Entries that a read finds.
  case live
  /// Also entries that only a load finds: expired but kept ones, and absences.
  case kept
  /// All stored entries.
  case all

  func shows(_ header: RecordHeader, at now: Int64) -> Bool {
    switch self {
    case .live: !header.isExpired(at: now)
    case .kept: !header.isOver(at: now)
    case .all: true
    }
  }
}
