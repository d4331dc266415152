/// An entry of elsewhere, which is stored with the times that it had there.
protocol StorableEntry {
  var key: String { get }

  /// Calls `body` with the write that stores it.
  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R
}

extension StorableEntry {
  func add(to batch: BatchFrames, in cache: DiskCache) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try withEdit(of: key, in: cache) { (edit) throws(CacheError) in
        switch edit {
        case .put(let header, let bytes, let transforms):
          try cache.store.put(key, header: header, payload: bytes, through: transforms, into: batch)
        case .putAsIs(let header, let bytes): try cache.store.putAsIs(key, header, bytes, into: batch)
        case .touch, .remove: preconditionFailure("It is an entry that is stored.")
        }
      }
    }
  }
}

extension ImportedEntry: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try payload.withBytes { (bytes) throws(CacheError) in
      try body(.put(try header(for: key, bytes, in: cache.store), bytes, cache.reader.transforms))
    }
  }
}

extension EntryRecord: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    var header = header
    // The record that it was in had the key, or had not, and was in the value log, or was not.
    header.keyLength = 0
    header.flags.remove(.pointer)
    header.tags = entry.tags?.hashes
    return try withExtendedLifetime(entry.tags) { () throws(CacheError) in
      try stored.withBytes { (bytes) throws(CacheError) in try body(.putAsIs(header, bytes)) }
    }
  }
}
