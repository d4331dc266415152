/// A garage's view: a snapshot with pending changes.
struct GarageView {
  let snapshot: any StoreSnapshot
  let pending: PendingChanges

  func record(_ key: ObjectKey) throws(GarageError) -> StoredRecord? {
    let change = pending.objects[key]
    if let change {
      switch change.content {
      case .deleted: return nil
      case .parked(let content, let isEncrypted):
        if let status = change.status {
          return StoredRecord(content: content, isEncrypted: isEncrypted, status: status)
        }
        let stored = pending.hides(key) ? nil : try snapshot.record(key)
        return StoredRecord(
          content: content, isEncrypted: isEncrypted, status: stored?.status ?? .undetermined)
      case .unchanged: break
      }
    }
    guard !pending.hides(key), var record = try snapshot.record(key) else { return nil }
    record.status = change?.status ?? record.status
    return record
  }

  /// All objects of a type, in key order.
  func records(ofType type: String) throws(GarageError) -> [(ObjectKey, StoredRecord)] {
    try with(type, pending.hides(type: type) ? [] : try snapshot.records(ofType: type)) { _ in true }
  }

  /// A type's objects with a status, in key order.
  func records(ofType type: String, _ status: SyncStatus) throws(GarageError) -> [(ObjectKey, StoredRecord)] {
    let stored = pending.hides(type: type) ? [] : try snapshot.records(ofType: type, status)
    return try with(type, stored) { $0.status == status }
  }

  /// Applies a type's pending changes to stored records.
  private func with(
    _ type: String, _ stored: [(ObjectKey, StoredRecord)], _ isWanted: (StoredRecord) -> Bool
  ) throws(GarageError) -> [(ObjectKey, StoredRecord)] {
    let changed = pending.objects.keys.filter { $0.type == type }
    guard !changed.isEmpty else { return stored }
    var records = stored.filter { pending.objects[$0.0] == nil }
    for key in changed {
      if let record = try record(key), isWanted(record) { records.append((key, record)) }
    }
    return records.sorted { $0.0.bytes.lexicographicallyPrecedes($1.0.bytes) }
  }

  /// The types that may have objects.
  func types() throws(GarageError) -> Set<String> {
    let stored = try snapshot.types().filter { !pending.hides(type: $0) }
    return Set(stored).union(pending.objects.keys.lazy.map(\.type))
  }

  func isEncrypted() throws(GarageError) -> Bool {
    if pending.objects.values.contains(where: \.isEncrypted) {
      return true
    }
    return pending.clearsAll ? false : try snapshot.isEncrypted()
  }
}
