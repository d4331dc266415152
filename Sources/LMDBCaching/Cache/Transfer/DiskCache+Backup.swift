public import Foundation

extension DiskCache {
  /// See ``LMDBCache/backUp(to:skippingDamaged:)``.
  @discardableResult
  public func backUp(to directory: URL, skippingDamaged: Bool = false) throws(CacheError) -> BackupReport {
    var options = CacheCopying.Options()
    options.skipsDamaged = skippingDamaged
    guard let report = try backUp(to: directory, options) else { preconditionFailure("Nobody cancels it.") }
    return report
  }

  /// The async form, on a background queue.
  @discardableResult
  public nonisolated(nonsending) func backUp(
    to directory: URL, skippingDamaged: Bool = false
  ) async throws(CacheError) -> BackupReport {
    try await background.perform(.aside) { [self] () throws(CacheError) in
      try backUp(to: directory, skippingDamaged: skippingDamaged)
    }
  }

  /// Returns `nil` if it was cancelled; nothing is left then.
  package func backUp(to directory: URL, _ options: CacheCopying.Options) throws(CacheError) -> BackupReport? {
    try CacheCopying(options: options).backUp(self, to: directory)
  }
}

extension LMDBCache {
  /// Writes a snapshot of the disk tier into a new directory, which opens as any cache.
  ///
  /// Readers and writers of all processes continue; the files grow more if they write. The copy includes all earlier
  /// writes of this process and the committed ones of others (``CacheConfiguration/Disk/groupCommitInterval``). Values,
  /// formats, times, costs, tags and transformed values are copied as they are. It needs as much room as the entries;
  /// unused space in the files is not copied.
  ///
  /// The copy is made in the same parent directory under a name that begins with `.lmdb-cache-`, synchronized, verified
  /// with all checksums, and then renamed. So the copy is whole or missing. A killed process leaves the temporary
  /// directory.
  ///
  /// - Parameters:
  ///   - directory: A new directory in an existing one, or an empty one; outside the cache's own directory.
  ///   - skippingDamaged: Whether to leave out damaged entries. The report names them.
  /// - Returns: The report of the copy.
  /// - Throws: `.corruptedRecord`, with the damaged keys in the message; `.invalidDirectory` if the place is taken;
  ///   `.noSpace`, `.remoteFileSystem`, `.permissionDenied`, `.damagedDatabase` and others. The partial copy is
  ///   deleted, and the cache is unchanged.
  @discardableResult
  public func backUp(to directory: URL, skippingDamaged: Bool = false) throws(CacheError) -> BackupReport {
    try diskCache.backUp(to: directory, skippingDamaged: skippingDamaged)
  }

  /// The async form, on a background queue.
  @discardableResult
  public nonisolated(nonsending) func backUp(
    to directory: URL, skippingDamaged: Bool = false
  ) async throws(CacheError) -> BackupReport {
    try await diskCache.backUp(to: directory, skippingDamaged: skippingDamaged)
  }
}
