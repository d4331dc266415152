import LMDB

/// Writes changes in a transaction. Reads current data in the same transaction, so that no other process's changes are
/// lost.
struct LMDBCommit {
  private let changes: PendingChanges
  private let databases: LMDBStore.Databases

  init(_ changes: PendingChanges, _ databases: LMDBStore.Databases) {
    self.changes = changes
    self.databases = databases
  }

  /// - Returns: Whether to commit: `false` if plain text would enter an encrypted garage.
  func run(_ transaction: borrowing WriteTransaction) throws(LMDBError) -> Bool {
    try clear(transaction)
    guard try checkEncryption(transaction) else { return false }
    // Key order is the cheapest.
    for (key, change) in changes.objects.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
      try apply(change, key, transaction)
    }
    return true
  }

  private func clear(_ transaction: borrowing WriteTransaction) throws(LMDBError) {
    if changes.clearsAll {
      try transaction.removeAll(in: databases.objects)
      try transaction.removeAll(in: databases.statuses)
      _ = try [LMDBSnapshot.Fact.isEncrypted.rawValue].withBytes { (key) throws(LMDBError) in
        try transaction.remove(forKey: key, in: databases.facts)
      }
    }
    for type in changes.clearedTypes {
      let prefix = ObjectKey.prefix(ofType: type)
      try remove(prefix, in: databases.objects, transaction)
      for status in SyncStatus.allCases {
        try remove([UInt8(status.rawValue)] + prefix, in: databases.statuses, transaction)
      }
    }
  }

  private func remove(
    _ prefix: [UInt8], in database: Database, _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    try prefix.withBytes { (start) throws(LMDBError) in
      try transaction.withCursor(in: database) { (cursor) throws(LMDBError) in
        var entry = try cursor.seek(toKeyAtOrAfter: start)
        while let present = entry, present.key.starts(with: prefix) {
          try cursor.remove()
          entry = try cursor.next()
        }
      }
    }
  }

  /// An encrypted garage accepts no plain text.
  private func checkEncryption(_ transaction: borrowing WriteTransaction) throws(LMDBError) -> Bool {
    var storesPlainText = false
    var storesEncrypted = false
    for change in changes.objects.values {
      if case .parked(_, let isEncrypted) = change.content {
        if isEncrypted { storesEncrypted = true } else { storesPlainText = true }
      }
    }
    return try [LMDBSnapshot.Fact.isEncrypted.rawValue].withBytes { (key) throws(LMDBError) in
      let isEncrypted = try transaction.withValue(forKey: key, in: databases.facts) { _ in true } ?? false
      if storesEncrypted && !isEncrypted {
        try [1].withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: key, in: databases.facts)
        }
      }
      return !isEncrypted || !storesPlainText
    }
  }

  private func apply(
    _ change: PendingChanges.Change, _ key: ObjectKey, _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    try key.bytes.withBytes { (place) throws(LMDBError) in
      // The status, and the bytes if needed again.
      var isThere = false
      var before: SyncStatus?
      var bytes: [UInt8] = []
      _ = try transaction.withValue(forKey: place, in: databases.objects) { value in
        isThere = true
        before = StoredRecord.status(in: value)
        if case .unchanged = change.content { bytes = Array(value) }
      }
      var after: SyncStatus?
      switch change.content {
      case .deleted:
        _ = try transaction.remove(forKey: place, in: databases.objects)
      case .parked(let content, let isEncrypted):
        let status = change.status ?? before ?? .undetermined
        after = status
        let record = StoredRecord(content: content, isEncrypted: isEncrypted, status: status)
        try record.bytes(for: key).withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: place, in: databases.objects)
        }
      case .unchanged:
        // Deleted by another process, or damaged: nothing to set.
        guard isThere, before != nil else { return }
        after = change.status ?? before
        StoredRecord.set(after ?? .undetermined, in: &bytes)
        try bytes.withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: place, in: databases.objects)
        }
      }
      try index(key, from: before, to: after, isThere, transaction)
    }
  }

  private func index(
    _ key: ObjectKey, from before: SyncStatus?, to after: SyncStatus?, _ wasThere: Bool,
    _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    guard before != after else { return }
    // A damaged record's status is unknown.
    let removed = before.map { [$0] } ?? (wasThere ? SyncStatus.allCases : [])
    for status in removed {
      _ = try ([UInt8(status.rawValue)] + key.bytes).withBytes { (entry) throws(LMDBError) in
        try transaction.remove(forKey: entry, in: databases.statuses)
      }
    }
    guard let after else { return }
    try ([UInt8(after.rawValue)] + key.bytes).withBytes { (entry) throws(LMDBError) in
      try [UInt8(1)].withBytes { (value) throws(LMDBError) in
        try transaction.put(value, forKey: entry, in: databases.statuses)
      }
    }
  }
}
