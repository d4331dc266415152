/// The result of a look-up.
@frozen
@usableFromInline package enum MemoryAccess<Result> {
  case hit(Result)
  case miss
  case closed
}
