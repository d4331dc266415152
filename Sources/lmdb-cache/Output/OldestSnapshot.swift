import LMDB

/// The oldest open snapshot of any process: pages freed after it are not reused until it ends.
struct OldestSnapshot: Encodable {
  let process: Int32
  let transactionsBehind: UInt64
  let isSuspended: Bool

  /// `nil` if no snapshot is open.
  init?(_ readers: [Environment.Reader], lastTransaction last: UInt64) {
    guard let oldest = readers.min(by: { $0.transactionID < $1.transactionID }) else { return nil }
    process = oldest.process
    transactionsBehind = last > oldest.transactionID ? last - oldest.transactionID : 0
    isSuspended = LockHolder.isSuspended(oldest.process)
  }

  var text: String {
    "of process \(process)\(isSuspended ? ", which is suspended" : ""), "
      + "\(Formatting.grouped(transactionsBehind)) transactions behind"
  }
}
