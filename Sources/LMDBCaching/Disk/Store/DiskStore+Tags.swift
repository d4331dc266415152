extension DiskStore {
  /// Removes every entry with one of the tags, at once for this process and in one commit for others. Upkeep deletes
  /// the hidden records later.
  func removeAll(tags hashes: [UInt64]) throws(CacheError) {
    if hashes.isEmpty { return }
    let batch = BatchFrames(isAwaited: durability == .full)
    for hash in hashes { batch.removeAll(tag: hash) }
    try write(batch, waitsForCommit: false)
  }
}
