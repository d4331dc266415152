/// State of the environment's write transaction.
struct WriterState {
  /// A cursor over the main database, shared by updates: in a sorted batch the next key is usually on its current page
  /// and needs no descent.
  var cursor: OpaquePointer?

  /// A change failed midway; the transaction must not be committed.
  var isDoomed = false
}
