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

    var isEncrypted: Bool {
      if case .parked(_, isEncrypted: true) = content { true } else { false }
    }
  }

  private(set) var clearsAll = false
  /// Types whose objects are all deleted.
  private(set) var clearedTypes: Set<String> = []
  private(set) var objects: [ObjectKey: Change] = [:]

  var isEmpty: Bool { !clearsAll && clearedTypes.isEmpty && objects.isEmpty }

  /// Whether the record stored under a key is hidden.
  func hides(_ key: ObjectKey) -> Bool { hides(type: key.type) }

  func hides(type: String) -> Bool { clearsAll || clearedTypes.contains(type) }

  mutating func park(_ key: ObjectKey, _ content: [UInt8], isEncrypted: Bool, _ status: SyncStatus?) {
    let before = objects[key]
    // An object parked again after its deletion does not get the old status back.
    let isDeleted = if case .deleted? = before?.content { true } else { before == nil && hides(key) }
    objects[key] = Change(
      content: .parked(content, isEncrypted: isEncrypted),
      status: status ?? (isDeleted ? .undetermined : before?.status))
  }

  mutating func delete(_ key: ObjectKey) {
    objects[key] = Change(content: .deleted, status: nil)
  }

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
