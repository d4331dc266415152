import Foundation

/// A store in memory for a single garage.
// @unchecked: `contents` is accessed with `lock` held.
final class MemoryStore: GarageStore, @unchecked Sendable {
  struct Contents {
    var objects: [String: [ObjectKey: StoredRecord]] = [:]
    var isEncrypted = false
  }

  private let lock = NSLock()
  private var contents = Contents()

  func close() {}

  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R {
    try body(MemorySnapshot(lock.withLock { contents }))
  }

  func commit(_ changes: PendingChanges) throws(GarageError) {
    lock.lock()
    defer { lock.unlock() }
    let was = contents
    if changes.clearsAll { contents = Contents() }
    for type in changes.clearedTypes { contents.objects[type] = nil }
    let wasEncrypted = contents.isEncrypted
    for (key, change) in changes.objects {
      switch change.content {
      case .deleted: contents.objects[key.type]?[key] = nil
      case .parked(let content, let isEncrypted):
        guard isEncrypted || !wasEncrypted else {
          contents = was
          throw .missingEncryptionDelegate("The garage")
        }
        if isEncrypted { contents.isEncrypted = true }
        let status = change.status ?? contents.objects[key.type]?[key]?.status ?? .undetermined
        contents.objects[key.type, default: [:]][key] = StoredRecord(
          content: content, isEncrypted: isEncrypted, status: status)
      case .unchanged:
        if let status = change.status { contents.objects[key.type]?[key]?.status = status }
      }
    }
  }
}

final class MemorySnapshot: StoreSnapshot {
  private let contents: MemoryStore.Contents

  init(_ contents: MemoryStore.Contents) { self.contents = contents }

  func record(_ key: ObjectKey) -> StoredRecord? { contents.objects[key.type]?[key] }

  func records(ofType type: String) -> [(ObjectKey, StoredRecord)] {
    (contents.objects[type] ?? [:]).map { ($0.key, $0.value) }
      .sorted { $0.0.bytes.lexicographicallyPrecedes($1.0.bytes) }
  }

  func records(ofType type: String, _ status: SyncStatus) -> [(ObjectKey, StoredRecord)] {
    records(ofType: type).filter { $0.1.status == status }
  }

  func types() -> [String] { contents.objects.compactMap { $0.value.isEmpty ? nil : $0.key } }

  func isEncrypted() -> Bool { contents.isEncrypted }
}
