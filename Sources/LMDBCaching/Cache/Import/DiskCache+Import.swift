import Foundation
import Platform

// Importing entries of other stores with their times.

extension DiskCache {
  /// Stores entries; returns when they survive the death of the process, with ``Durability/full`` when they are on the
  /// disk.
  ///
  /// - Parameters:
  ///   - replacing: Whether to replace existing entries. Otherwise they stay, even if stored during the call.
  ///   - memory: The cache's memory tier, which may have entries that the disk lacks.
  /// - Returns: Whether each is stored. Of several with one key the first is, or the last when replacing.
  /// - Throws: as ``DiskCache/set(_:forKey:expiresIn:cost:)``; some may be stored then.
  package func take(
    _ entries: [ImportedEntry], replacing: Bool, beside memory: MemoryTier?
  ) throws(CacheError) -> [Bool] {
    try takeAll(entries, replacing: replacing, beside: memory)
  }

  /// Stores entries of other caches as they are, with new stamps. Their values are not transformed.
  package func take(_ records: [EntryRecord], replacing: Bool) throws(CacheError) -> [Bool] {
    try takeAll(records, replacing: replacing, beside: nil)
  }

  private func takeAll(
    _ entries: [some StorableEntry], replacing: Bool, beside memory: MemoryTier?
  ) throws(CacheError) -> [Bool] {
    try checkOpen()
    if replacing {
      let batch = BatchFrames(isAwaited: store.durability == .full)
      for entry in entries { try entry.add(to: batch, in: self) }
      try store.write(batch, waitsForCommit: false)
      return entries.map { _ in true }
    }
    if let taken = try takeTogether(entries, memory) { return taken }
    var taken: [Bool] = []
    for entry in entries { taken.append(try take(entry, memory)) }
    return taken
  }

  /// Stores the missing ones as one batch. Returns `nil`, with nothing stored, if other processes have the cache open
  /// or one of the keys was written in the meantime.
  private func takeTogether(_ entries: [some StorableEntry], _ memory: MemoryTier?) throws(CacheError) -> [Bool]? {
    let batch = BatchFrames(isAwaited: store.durability == .full)
    var expected: [(write: ConditionalWrite, position: UInt64)] = []
    defer { for (write, _) in expected.reversed() { store.end(write) } }
    var keys: Set<ByteKey> = []
    var taken: [Bool] = []
    for entry in entries {
      let write = try CacheKey.with(entry.key) { (key) throws(CacheError) in try store.begin(key) }
      guard case .unchanged(_, let position)? = try store.condition(write) else { return nil }
      expected.append((write, position))
      let isThere = try isPresent(entry.key, memory)
      let isNew = keys.insert(ByteKey(entry.key)).inserted && !isThere
      taken.append(isNew)
      guard isNew else { continue }
      try entry.add(to: batch, in: self)
    }
    let isWritten = try store.write(batch, waitsForCommit: false) { [store] in store.areUnchanged(expected) }
    return isWritten ? taken : nil
  }

  private func take(_ entry: some StorableEntry, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.withEdit(of: key, in: self) { (edit) throws(CacheError) in
        var isTaken = false
        try attempting(key) { (write, condition) throws(CacheError) in
          if try isPresent(key, memory) { return true }
          write.tags = .some(nil)
          let outcome = try store.edit(key, edit, if: condition ?? .stamp(0), by: nil)
          if outcome.isRefused { return false }
          try outcome.checkCommitted()
          isTaken = true
          return true
        }
        return isTaken
      }
    }
  }

  /// Whether a live entry exists, on the disk or in memory. Not an access.
  package func isPresent(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try isPresent(key, memory) }
  }

  package var wallClock: Int64 { store.clock.now }
}
