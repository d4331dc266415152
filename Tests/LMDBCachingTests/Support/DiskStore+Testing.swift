import Platform

@testable import LMDBCaching

extension DiskStore {
  /// Runs `job` on the writer thread, between commits.
  func onWriterThread<R: Sendable>(
    _ job: @escaping @Sendable () -> Result<R, CacheError>
  ) throws(CacheError) -> R { try writer.run { try job().get() } }

  func enqueueOnWriterThread(_ job: @escaping @Sendable () -> Void) { writer.enqueue(job) }

  func enqueueMaintenance() { maintenance.enqueue() }

  func sweepCommittedStamps() throws(CacheError) { try peers.sweepCommittedStamps() }
}
