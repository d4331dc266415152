/// What belongs to the one write transaction of an environment.
struct WriterState {
  /// A cursor over the main database that updates share: in a sorted batch the next key is most often on the page
  /// that it points at, and needs no descent.
  var cursor: OpaquePointer?

  /// A change failed half-way; the transaction must not be committed.
  var isDoomed = false
}
