@testable import LMDBCaching

extension LMDBCache {
  /// Returns when everything that was enqueued on the writer thread is done.
  func settle() throws { try store.onWriterThread { .success(()) } }
}
