/// What a look-up without the lock came to.
@frozen
@usableFromInline enum MemoryLook<Result> {
  case hit(Result)
  case miss
  /// Only the lock's holder can tell.
  case undecided
}
