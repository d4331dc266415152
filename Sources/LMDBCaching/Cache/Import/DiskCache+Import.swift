import Foundation
import Platform

// Entries of other stores, with the times that they had there.

extension DiskCache {
  /// Stores entries; returns when they survive the death of the process, and in ``Durability/full`` when they are on the
  /// disk.
  ///
  /// - Parameters:
  ///   - replacing: Whether they take the places of what is there. Otherwise what anybody stores under a key, be it while
  ///     this runs, stays.
  ///   - memory: The memory tier of the cache that they are stored in: it may have what the disk has not.
  /// - Returns: Of each whether it is stored. Of several with one key it is the first, or when they replace what is there
  ///   the last.
  /// - Throws: as ``DiskCache/set(_:forKey:expiresIn:cost:)``; some may be stored then.
  package func take(
    _ entries: [ImportedEntry], replacing: Bool, beside memory: MemoryTier?
  ) throws(CacheError) -> [Bool] {
    try takeAll(entries, replacing: replacing, beside: memory)
  }

  /// The same of entries of other caches: as their records say, and under new stamps. Their values go through no transforms
  /// here.
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

  /// Stores those that are not there as one batch. Returns `nil`, with nothing stored, if that cannot be: other processes
  /// have the cache open, or something was written meanwhile under one of the keys.
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

  /// Stores one if there is nothing under its key.
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

  /// Whether there is an entry that has not expired, be it in memory only. Not an access.
  package func isPresent(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try isPresent(key, memory) }
  }

  /// The time by which its entries expire: nanoseconds since 1970.
  package var wallClock: Int64 { store.clock.now }
}
