/// Which entries are shown.
package enum EntrySelection {
  /// Those that a read finds.
  case live
  /// Those that a load finds, too: expired ones that are kept, and those that say that there is no value.
  case kept
  /// All that are stored, also those that nobody can find any more.
  case all

  func shows(_ header: RecordHeader, at now: Int64) -> Bool {
    switch self {
    case .live: !header.isExpired(at: now)
    case .kept: !header.isOver(at: now)
    case .all: true
    }
  }
}
