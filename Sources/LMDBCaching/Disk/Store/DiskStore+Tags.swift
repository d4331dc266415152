/// Removals by tag.
extension DiskStore {
  /// Removes every entry that has one of the tags: each at once and for all readers of this process, all with one commit for
  /// other processes. What is in the database stays there until upkeep comes to it, and is read by nobody.
  func removeAll(tags hashes: [UInt64]) throws(CacheError) {
    if hashes.isEmpty { return }
    let batch = BatchFrames(isAwaited: durability == .full)
    for hash in hashes { batch.removeAll(tag: hash) }
    try write(batch, waitsForCommit: false)
  }
}
