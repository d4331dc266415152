/// The writes of a key by other processes that are known when a load begins.
struct LoadBasis {
  private struct Record {
    let stamp: UInt64
    let tags: EntryTags?
    /// Removals of many are the only trace of a missing entry.
    let removals: RemovalMarks
  }

  private let position: UInt64
  private let record: Record?

  init(of key: String, in store: DiskStore) {
    position = store.foreignPosition
    record = Self.record(key, store)
  }

  var tags: EntryTags? { record?.tags }

  /// Whether no other process is known to have written the key. The removal of a single missing key leaves no trace.
  ///
  /// - Parameter tags: A removal by one of them counts as a write of the key.
  func isCurrent(_ key: String, _ tags: [EntryTags?], in store: DiskStore) -> Bool {
    if store.foreignPosition == position { return true }
    guard let record, let now = Self.record(key, store), now.stamp == record.stamp,
      now.removals.clear == record.removals.clear,
      !CacheKey.with(key, { now.removals.prefixes.includes($0.utf8, since: record.removals.prefixes.last) })
    else { return false }
    let tagged = record.removals.tag.last
    if now.removals.tag.last == tagged { return true }
    // The tags of the older removals are forgotten.
    if now.removals.tag.forgotten > tagged { return false }
    do throws(CacheError) {
      for tags in tags { if let tags, try store.database.isRemoved(tags, writtenAt: tagged) { return false } }
      return true
    } catch {
      return false
    }
  }

  private static func record(_ key: String, _ store: DiskStore) -> Record? {
    do throws(CacheError) {
      let header = try CacheKey.with(key) { (key) throws(CacheError) in try store.header(key) }
      return Record(
        stamp: header?.header.stamp ?? 0, tags: header?.tags, removals: try store.database.removalMarks())
    } catch {
      // Returning the error would reach only this caller, which gets the value anyway.
      return nil
    }
  }
}
