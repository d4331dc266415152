/// Changes that are not saved yet, in the order that matters: first what is cleared, then the objects.
struct PendingChanges {
  struct Change {
    enum Content {
      case unchanged
      case parked([UInt8], isEncrypted: Bool)
      case deleted
    }

    var content: Content
    /// `nil` for the one that is stored, or undetermined if the object is new.
    var status: SyncStatus?

    var isEncrypted: Bool {
      if case .parked(_, isEncrypted: true) = content { true } else { false }
    }
  }

  private(set) var clearsAll = false
  /// The names of the types whose objects are all deleted.
  private(set) var clearedTypes: Set<String> = []
  private(set) var objects: [ObjectKey: Change] = [:]

  var isEmpty: Bool { !clearsAll && clearedTypes.isEmpty && objects.isEmpty }

  /// Whether what is stored under a key is no longer visible.
  func hides(_ key: ObjectKey) -> Bool { hides(type: key.type) }

  func hides(type: String) -> Bool { clearsAll || clearedTypes.contains(type) }

  mutating func park(_ key: ObjectKey, _ content: [UInt8], isEncrypted: Bool, _ status: SyncStatus?) {
    let before = objects[key]
    // Parked anew after it was deleted, it does not get the old object's status back.
    let isDeleted = if case .deleted? = before?.content { true } else { before == nil && hides(key) }
    objects[key] = Change(
      content: .parked(content, isEncrypted: isEncrypted),
      status: status ?? (isDeleted ? .undetermined : before?.status))
  }

  mutating func delete(_ key: ObjectKey) {
    objects[key] = Change(content: .deleted, status: nil)
  }

  /// For an object that is there.
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

  /// Adds later changes.
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
