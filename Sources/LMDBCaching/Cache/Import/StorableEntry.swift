/// An entry from another store, with its times.
protocol StorableEntry {
  var key: String { get }

  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R
}

extension StorableEntry {
  func add(to batch: BatchFrames, in cache: DiskCache) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try withEdit(of: key, in: cache) { (edit) throws(CacheError) in
        guard case .put(let header, let draft) = edit else { preconditionFailure("It is an entry that is stored.") }
        try cache.store.put(key, header: header, payload: draft.payload, through: draft.transforms, into: batch)
      }
    }
  }
}

extension ImportedEntry: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try payload.withBytes { (bytes) throws(CacheError) in
      try body(.put(header(for: key, bytes, in: cache.store), ValueDraft(bytes, cache.reader.transforms)))
    }
  }
}

extension EntryRecord: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: DiskCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    var header = header
    // Key and value may be stored differently here.
    header.keyLength = 0
    header.flags.remove(.pointer)
    header.tags = entry.tags?.hashes
    return try withExtendedLifetime(entry.tags) { () throws(CacheError) in
      try stored.withBytes { (bytes) throws(CacheError) in try body(.put(header, ValueDraft(bytes, .none))) }
    }
  }
}
