package import LMDB
import Platform
import Synchronization

// For trials of the cache's promises only.

extension LMDBCache {
  package var environment: Environment { store.environment }

  /// Another cache on the directory, without a memory tier.
  package var withoutMemory: LMDBCache {
    get throws(CacheError) { try LMDBCache(directory: directory, configuration: configuration.withoutMemory) }
  }

  /// Runs `body` without concurrent commits, with the files as after a kill. It must not use the cache.
  package func betweenCommits<R: Sendable>(_ body: @escaping @Sendable () -> R) throws(CacheError) -> R {
    try checkOpen()
    return try store.writer.run { body() }
  }

  /// Whether every write is committed, and so at most one commit away from safety from a power cut.
  package var isCommitted: Bool { !store.journal.hasPending.load(ordering: .acquiring) }

  /// Whether a load in the background is not over yet.
  package var isRefreshing: Bool { !refreshes.withLock(\.isEmpty) }

  /// Removes unreferenced values at once, and empties segments that are mostly unused.
  package func sweepValues() throws(CacheError) {
    try checkOpen()
    try store.writer.run { [store] in try store.valueKeeper.sweep() }
  }

  /// Returns unused space of the database's file and of spare journal segments to the disk.
  package func giveBackSpace() throws(CacheError) {
    try checkOpen()
    try store.writer.run { [store] in
      store.journal.giveBlocksBack()
      try store.space.sweep()
    }
  }

  /// Removes entries with removed tags from the database, as upkeep does within a second or so.
  package func sweepTags() throws(CacheError) {
    try commitPending()
    try store.writer.run { [store] in try store.trimmer.sweep() }
  }

  /// Disagreements between the database's counts of the value log, the entries and the files. After ``sweepValues()``
  /// also unreferenced segments. No other process may have the cache open.
  package func valueLogFaults() throws(CacheError) -> [String] {
    try checkOpen()
    try flush()
    // Keeps commits out.
    return try store.writer.run { [store] in try Self.valueLogFaults(store) }
  }

  private static func valueLogFaults(_ store: DiskStore) throws(CacheError) -> [String] {
    let directory = store.place.directory
    let activity = "Checking the values of \(store.directory)"
    let found = try calling(activity) { () throws(SystemError) in
      try ValueFolder(cache: directory).segments().map { ValueSegment.name($0.identifier) }
    }
    let used = try store.database.valueUsage().segments.keys.map { ValueSegment.name($0) }
    var faults = Set(used).subtracting(found).map { "\($0) is used, and is not there" }
    faults += Set(found).subtracting(used).map { "\($0) is there, and nothing refers to it" }
    switch try DatabaseExamination(directory: directory, activity: activity) {
    case .sound: if try !hasRightCounts(store.database) { faults.append("the counts are not the entries'") }
    default: faults.append("the database is damaged")
    }
    return faults
  }

  private static func hasRightCounts(_ database: EntryDatabase) throws(CacheError) -> Bool {
    let usage = try database.valueUsage().segments
    return try database.reading("Counting the entries of \(database.directoryName)") { (txn) throws(LMDBError) in
      let metadata = try EntryDatabase.metadata(txn)
      var found = CacheMetadata(durability: metadata.durability)
      var foundUsage: [UInt64: SegmentUsage] = [:]
      try txn.withCursor { (cursor) throws(LMDBError) in
        var position = try cursor.first()
        while let (key, record) = position.map({ ($0.keyBytes, $0.valueBytes) }),
          key.first != DatabaseKey.reservedMarker
        {
          if let header = RecordHeader(record) {
            found.add(header)
            if let pointer = ValuePointer(in: record, header) {
              foundUsage[pointer.segment, default: .init()].add(pointer, keyLength: key.count)
            }
          }
          position = try cursor.next()
        }
      }
      return (metadata.count, metadata.cost, metadata.expiring) == (found.count, found.cost, found.expiring)
        && usage == foundUsage
    }
  }

  package func _checkInvariants() {
    let journal = store.journal
    journal.lock.withLock { journal._checkInvariants() }
  }
}

package enum TestingMark {
  /// Marks damaged files as sound, as if a medium had changed them without the system's knowledge.
  package static func write(in path: String, durability: Durability = .ordered) throws(CacheError) {
    try calling("Marking \(path)") { () throws(SystemError) in
      _ = try CleanExitMark.write(in: Directory(path: path), durability: durability, .disk, wasVerified: true)
    }
  }
}
