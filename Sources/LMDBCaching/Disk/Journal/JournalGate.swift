/// Whether the journal takes writes, as the writer says: see ``WriterMachine``.
enum JournalGate {
  case open
  /// Commits fail. Writes are taken as long as there is room.
  case failing(CommitFailure)
  /// No more writes are taken; what waits is being committed.
  case closing(CommitFailure?)
  /// Nothing is committed any more.
  case ended(CommitFailure?)

  var failure: CommitFailure? {
    switch self {
    case .open: nil
    case .failing(let failure): failure
    case .closing(let failure), .ended(let failure): failure
    }
  }

  @inline(__always)
  var isClosed: Bool {
    switch self {
    case .open, .failing: false
    case .closing, .ended: true
    }
  }

  var isEnded: Bool { if case .ended = self { true } else { false } }
}
