/// Whether the journal accepts writes, as decided by ``WriterMachine``.
enum JournalGate {
  case open
  /// Commits fail. Writes are accepted while there is room.
  case failing(CommitFailure)
  /// No more writes are accepted; pending ones are being committed.
  case closing(CommitFailure?)
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
