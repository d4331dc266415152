import Synchronization

extension Environment {
  /// What a transaction is called here: its number, above those of every file that the environment was on before.
  @inline(__always)
  package func position(of transaction: borrowing ReadTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }

  /// The same for a write transaction, which will have it when it is committed.
  package func position(of transaction: borrowing WriteTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }
}
