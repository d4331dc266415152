/// What became of a mutation.
@frozen
@usableFromInline package enum MemoryOutcome: Sendable, Equatable {
  /// The value is in the store (an entry over the cost limit was removed instead).
  case done
  /// A newer mutation came first; the store holds nothing older.
  case superseded
  /// The store was closed; nothing happened.
  case closed
}
