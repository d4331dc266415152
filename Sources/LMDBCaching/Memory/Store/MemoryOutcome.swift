/// The result of a mutation.
@frozen
@usableFromInline package enum MemoryOutcome: Sendable, Equatable {
  /// The value is stored (an entry over the cost limit was removed instead).
  case done
  /// A newer mutation came first; older values are gone.
  case superseded
  case closed
}
