/// What a look-up found.
@frozen
@usableFromInline package enum MemoryAccess<Result> {
  case hit(Result)
  case miss
  /// The store was closed; it holds nothing any more.
  case closed
}
