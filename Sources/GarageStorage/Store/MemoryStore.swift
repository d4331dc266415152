import Foundation

/// A store in memory for a single garage.
// @unchecked: `contents` is accessed with `lock` held.
final class MemoryStore: GarageStore, @unchecked Sendable {
  private struct Contents: StoreSnapshot {
    var objects: [String: [ObjectKey: StoredRecord]] = [:]
    var hasEncrypted = false

    func record(_ key: ObjectKey) -> StoredRecord? { objects[key.type]?[key] }

    func records(ofType type: String, _ status: SyncStatus?) -> [(ObjectKey, StoredRecord)] {
      (objects[type] ?? [:]).filter { status == nil || $0.value.status == status }.map { ($0.key, $0.value) }
        .sorted { $0.0.bytes.lexicographicallyPrecedes($1.0.bytes) }
    }

    func types() -> [String] { objects.compactMap { $0.value.isEmpty ? nil : $0.key } }

    func isEncrypted() -> Bool { hasEncrypted }
  }

  private let lock = NSLock()
  private var contents = Contents()

  func close() {}

  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R { try body(lock.withLock { contents }) }

  func commit(_ changes: PendingChanges) throws {
    try lock.withLock {
      var new = changes.clearsAll ? Contents() : contents
      for type in changes.clearedTypes { new.objects[type] = nil }
      let wasEncrypted = new.hasEncrypted
      for (key, change) in changes.objects {
        switch change.content {
        case .deleted: new.objects[key.type]?[key] = nil
        case .parked(let content, let isEncrypted):
          guard isEncrypted || !wasEncrypted else { throw GarageError.missingEncryptionDelegate("The garage") }
          if isEncrypted { new.hasEncrypted = true }
          let status = change.status ?? new.objects[key.type]?[key]?.status ?? .undetermined
          new.objects[key.type, default: [:]][key] = StoredRecord(
            content: content, isEncrypted: isEncrypted, status: status)
        case .unchanged:
          if let status = change.status { new.objects[key.type]?[key]?.status = status }
        }
      }
      contents = new
    }
  }
}
