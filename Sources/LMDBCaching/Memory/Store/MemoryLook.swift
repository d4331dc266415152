/// The result of a look-up without the lock.
@frozen
@usableFromInline enum MemoryLook<Result> {
  case hit(Result)
  case miss
  /// Look again under the lock.
  case undecided
}
