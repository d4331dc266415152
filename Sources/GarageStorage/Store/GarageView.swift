protocol GarageStore: AnyObject, Sendable {
  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R

  /// Commits all changes durably, or none. Ignores sync statuses for objects deleted in between.
  ///
  /// - Throws: `.missingEncryptionDelegate` for plain text in an encrypted garage; `.storageFailed`.
  func commit(_ changes: PendingChanges) throws

  func close()
}

/// A snapshot of the store without pending changes. Valid in the body it is lent to.
protocol StoreSnapshot {
  func record(_ key: ObjectKey) throws -> StoredRecord?

  /// A type's objects, all or those with a status, in key order. Reads only these.
  func records(ofType type: String, _ status: SyncStatus?) throws -> [(ObjectKey, StoredRecord)]

  /// The types that have objects.
  func types() throws -> [String]

  /// Whether anything was stored encrypted since the garage was last empty.
  func isEncrypted() throws -> Bool
}

/// A garage's view: a snapshot with pending changes.
struct GarageView {
  let snapshot: any StoreSnapshot
  let pending: PendingChanges

  func record(_ key: ObjectKey) throws -> StoredRecord? {
    let change = pending.objects[key]
    if case .deleted? = change?.content { return nil }
    var record = pending.hides(type: key.type) ? nil : try snapshot.record(key)
    if case .parked(let content, let isEncrypted)? = change?.content {
      record = StoredRecord(content: content, isEncrypted: isEncrypted, status: record?.status ?? .undetermined)
    }
    if let status = change?.status { record?.status = status }
    return record
  }

  /// A type's objects, all or those with a status, in key order.
  func records(ofType type: String, _ status: SyncStatus? = nil) throws -> [(ObjectKey, StoredRecord)] {
    var records = pending.hides(type: type) ? [] : try snapshot.records(ofType: type, status)
    let changed = pending.objects.keys.filter { $0.type == type }
    guard !changed.isEmpty else { return records }
    records.removeAll { pending.objects[$0.0] != nil }
    for key in changed {
      if let record = try record(key), status == nil || record.status == status { records.append((key, record)) }
    }
    return records.sorted { $0.0.bytes.lexicographicallyPrecedes($1.0.bytes) }
  }

  /// The types that may have objects.
  func types() throws -> Set<String> {
    let stored = try snapshot.types().filter { !pending.hides(type: $0) }
    return Set(stored).union(pending.objects.keys.lazy.map(\.type))
  }

  func isEncrypted() throws -> Bool {
    if pending.objects.values.contains(where: \.isEncrypted) { return true }
    return pending.clearsAll ? false : try snapshot.isEncrypted()
  }
}

/// Unsaved changes: first types to clear, then objects.
struct PendingChanges {
  struct Change {
    enum Content {
      case unchanged
      case parked([UInt8], isEncrypted: Bool)
      case deleted
    }

    var content: Content
    /// `nil` to keep the stored status, or undetermined for a new object.
    var status: SyncStatus?

    var isEncrypted: Bool { if case .parked(_, isEncrypted: true) = content { true } else { false } }
  }

  private(set) var clearsAll = false
  /// Types whose objects are all deleted.
  private(set) var clearedTypes: Set<String> = []
  private(set) var objects: [ObjectKey: Change] = [:]

  var isEmpty: Bool { !clearsAll && clearedTypes.isEmpty && objects.isEmpty }

  /// Whether the records stored for a type are hidden.
  func hides(type: String) -> Bool { clearsAll || clearedTypes.contains(type) }

  mutating func park(_ key: ObjectKey, _ content: [UInt8], isEncrypted: Bool, _ status: SyncStatus?) {
    let before = objects[key]
    // An object parked again after its deletion does not get the old status back.
    let isDeleted = if case .deleted? = before?.content { true } else { before == nil && hides(type: key.type) }
    objects[key] = Change(
      content: .parked(content, isEncrypted: isEncrypted),
      status: status ?? (isDeleted ? .undetermined : before?.status))
  }

  mutating func delete(_ key: ObjectKey) { objects[key] = Change(content: .deleted, status: nil) }

  /// For an existing object.
  mutating func setStatus(_ status: SyncStatus, _ key: ObjectKey) {
    objects[key, default: Change(content: .unchanged, status: nil)].status = status
  }

  mutating func clear(type: String) {
    objects = objects.filter { $0.key.type != type }
    clearedTypes.insert(type)
  }

  mutating func clearAll() {
    self = PendingChanges()
    clearsAll = true
  }

  mutating func merge(_ later: PendingChanges) {
    if later.clearsAll { clearAll() }
    for type in later.clearedTypes { clear(type: type) }
    for (key, change) in later.objects {
      switch change.content {
      case .parked(let content, let isEncrypted): park(key, content, isEncrypted: isEncrypted, change.status)
      case .deleted: delete(key)
      case .unchanged: if let status = change.status { setStatus(status, key) }
      }
    }
  }
}
