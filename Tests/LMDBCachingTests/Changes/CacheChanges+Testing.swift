@testable import LMDBCaching

extension CacheChanges {
  /// What has been told and not taken.
  func taken() -> [CacheChange] {
    var changes: [CacheChange] = []
    while let change = observation.mailbox.take() { changes.append(change) }
    return changes
  }
}

extension LMDBCache {
  /// Returns when everything that was enqueued on the writer thread is done.
  func settle() throws { try store.onWriterThread { .success(()) } }
}
