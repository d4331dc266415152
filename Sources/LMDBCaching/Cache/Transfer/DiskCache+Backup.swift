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

  /// The same on a background queue, so that the caller's executor waits for no disk.
  @discardableResult
  public nonisolated(nonsending) func backUp(
    to directory: URL, skippingDamaged: Bool = false
  ) async throws(CacheError) -> BackupReport {
    try await background.perform(.aside) { [self] () throws(CacheError) in
      try backUp(to: directory, skippingDamaged: skippingDamaged)
    }
  }

  /// The same with more to say about it.
  ///
  /// - Returns: `nil`: it was cancelled, and nothing is left of it.
  package func backUp(to directory: URL, _ options: CacheCopying.Options) throws(CacheError) -> BackupReport? {
    try CacheCopying(options: options).backUp(self, to: directory)
  }
}

extension LMDBCache {
  /// Writes a copy of the disk tier, as of one moment, into a new directory, where it opens as any cache does.
  ///
  /// Readers and writers of all processes go on meanwhile; the files grow more than otherwise while others write, since the
  /// pages of that moment cannot be used again. Every write that returned in this process before is in the copy; of other
  /// processes those are that were committed (``CacheConfiguration/Disk/groupCommitInterval``). Values, formats, times, costs,
  /// tags and what transforms have made of values are as they are in the cache. It needs as much room as the entries do:
  /// what the files have that is not in use is not copied.
  ///
  /// The copy is made beside its place under a name that begins with `.lmdb-cache-`, synchronized, and read once more with
  /// the checksums of all values; then it gets its name. So there is a whole copy or none. A process that is killed leaves
  /// the directory with the other name.
  ///
  /// - Parameters:
  ///   - directory: A new directory, in one that is there, or an empty one; not in the cache's own directory.
  ///   - skippingDamaged: Whether entries that are damaged are left out. The report names them.
  /// - Returns: What is in it.
  /// - Throws: `.corruptedRecord`, whose message names the keys, if entries are damaged; `.invalidDirectory` if there is
  ///   something at that place; `.noSpace`, `.remoteFileSystem`, `.permissionDenied`, `.damagedDatabase` and others. Nothing is
  ///   left of the copy then, and the cache is as it was.
  @discardableResult
  public func backUp(to directory: URL, skippingDamaged: Bool = false) throws(CacheError) -> BackupReport {
    try diskCache.backUp(to: directory, skippingDamaged: skippingDamaged)
  }

  /// The same on a background queue, so that the caller's executor waits for no disk.
  @discardableResult
  public nonisolated(nonsending) func backUp(
    to directory: URL, skippingDamaged: Bool = false
  ) async throws(CacheError) -> BackupReport {
    try await diskCache.backUp(to: directory, skippingDamaged: skippingDamaged)
  }
}
