@testable import LMDBCaching

extension LMDBCache {
  /// Waits until the writer thread has run all earlier jobs.
  func settle() throws { try store.onWriterThread { .success(()) } }
}
