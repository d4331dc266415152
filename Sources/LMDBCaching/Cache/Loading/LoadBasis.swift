/// What is known of other processes' writes of a key when a load begins.
struct LoadBasis {
  private struct Record {
    /// 0 if there is none.
    let stamp: UInt64
    let tags: EntryTags?
    /// Where there is no entry, removals of many leave nothing else.
    let removals: RemovalMarks
  }

  private let position: UInt64
  /// `nil` if it could not be read.
  private let record: Record?

  init(of key: String, in store: DiskStore) {
    position = store.foreignPosition
    record = Self.record(key, store)
  }

  /// Those of the entry that was there.
  var tags: EntryTags? { record?.tags }

  /// Whether no other process has written the key, as far as is known: a removal of the key alone, under which there was nothing,
  /// leaves no trace.
  ///
  /// - Parameter tags: A removal by one of them is a write of the key.
  func isCurrent(_ key: String, _ tags: [EntryTags?], in store: DiskStore) -> Bool {
    if store.foreignPosition == position { return true }
    guard let record, let now = Self.record(key, store), now.stamp == record.stamp,
      now.removals.clear == record.removals.clear,
      !CacheKey.with(key, { now.removals.prefixes.includes($0.utf8, since: record.removals.prefixes.last) })
    else { return false }
    let tagged = record.removals.tag.last
    if now.removals.tag.last == tagged { return true }
    // Which tags they were of is not known any more.
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
      // The caller of the load would be the only one to learn of it, and the value is the caller's all the same.
      return nil
    }
  }
}
