import Synchronization

extension Environment {
  /// A transaction's position: its number, offset to exceed all numbers of the environment's earlier files.
  @inline(__always)
  package func position(of transaction: borrowing ReadTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }

  /// The position that a write transaction will have once committed.
  package func position(of transaction: borrowing WriteTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }
}
