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
