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
