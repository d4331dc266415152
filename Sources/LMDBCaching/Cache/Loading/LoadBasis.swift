/// What is known of other processes' writes of a key when a load begins.
struct LoadBasis {
  private struct Record: Equatable {
    /// The stamp of the entry, or 0 if there is none.
    let stamp: UInt64
    /// Removals of many entries leave nothing else where there is no entry.
    let removals: RemovalMarks
  }

  private let position: UInt64
  /// `nil` if it could not be read.
  private let record: Record?

  init(of key: String, in store: DiskStore) {
    position = store.foreignPosition
    record = Self.record(key, store)
  }

  /// Whether no other process has written the key, as far as can be told: of one that removed nothing under it nobody knows.
  func isCurrent(_ key: String, in store: DiskStore) -> Bool {
    if store.foreignPosition == position { return true }
    return record != nil && Self.record(key, store) == record
  }

  private static func record(_ key: String, _ store: DiskStore) -> Record? {
    do throws(CacheError) {
      let header = try CacheKey.with(key) { (key) throws(CacheError) in try store.header(key)?.header }
      return Record(stamp: header?.stamp ?? 0, removals: try store.database.removalMarks())
    } catch {
      // Nobody but the caller of the load would be told, and the value is the caller's all the same.
      return nil
    }
  }
}
