import LMDB

/// Scans all entries for a trim, in LMDB key order.
struct TrimScan {
  /// A trim's classification of an entry; the key is valid as long as the entry.
  enum Standing {
    /// Written by a newer version, and kept.
    case unknown
    /// A record that is unreadable, or stored under the wrong key.
    case stray
    case expired(key: UnsafeRawBufferPointer, stamp: UInt64)
    /// Removed by tag, or created too early.
    case removed(key: UnsafeRawBufferPointer, stamp: UInt64)
    case live(key: UnsafeRawBufferPointer, TrimPlan.Recency, cost: Int)
  }

  /// Entries per read transaction: a long snapshot keeps pages from being reused.
  private static let length = 20_000

  private let database: EntryDatabase
  private let recency: RecencyTable
  private let observers: [any DiskStoreObserver]
  private let now: Int64
  private let generation: UInt32
  private let knowsAccesses: Bool
  /// The stamps of removals, by tag hash.
  private let removedTags: [UInt64: UInt64]
  private let oldestCreation: UInt32
  private var last: [UInt8]?

  init(
    _ database: EntryDatabase, _ recency: RecencyTable, _ observers: StoreObservers, now: Int64, generation: UInt32,
    removedTags: [UInt64: UInt64], oldestCreation: UInt32
  ) {
    self.database = database
    self.recency = recency
    self.observers = observers.all
    self.now = now
    self.generation = generation
    self.removedTags = removedTags
    self.oldestCreation = oldestCreation
    knowsAccesses = !self.observers.isEmpty || !recency.isEmpty
  }

  /// Visits the next entries. Returns whether there are more.
  mutating func next(_ body: (Cursor.Entry, Standing) -> Void) throws(CacheError) -> Bool {
    let start = last
    last = try database.accessing("Trimming \(database.directoryName)") { () throws(LMDBError) in
      try database.environment.withReadTransaction { (txn) throws(LMDBError) in
        try txn.withCursor { (cursor) throws(LMDBError) -> [UInt8]? in
          var position = try EntryDatabase.position(cursor, after: start)
          var looked = 0
          while let entry = position, entry.key.first != DatabaseKey.reservedMarker {
            body(entry, standing(of: entry))
            looked += 1
            if looked == Self.length { return Array(entry.key) }
            position = try cursor.next()
          }
          return nil
        }
      }
    }
    return last != nil
  }

  func standing(of entry: Cursor.Entry) -> Standing {
    guard var header = RecordHeader(entry.value),
      let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header)
    else {
      return entry.value.count > 4 && entry.value[4] > RecordHeader.version ? .unknown : .stray
    }
    guard Self.isUTF8(key), database.databaseKey.leads(key, to: entry.key) else { return .stray }
    if header.isOver(at: now) { return .expired(key: key, stamp: header.stamp) }
    if header.created < oldestCreation { return .removed(key: key, stamp: header.stamp) }
    if let tags = header.tags, tags.contains(where: { removedTags[$0] ?? 0 > header.stamp }) {
      return .removed(key: key, stamp: header.stamp)
    }
    if knowsAccesses { header.noteAccess(lastAccess(key, header.lastAccess), generation: generation) }
    let recency = TrimPlan.Recency(lastAccess: header.lastAccess, uses: header.uses, stamp: header.stamp)
    return .live(key: key, recency, cost: header.cost)
  }

  private static func isUTF8(_ key: UnsafeRawBufferPointer) -> Bool {
    key.allSatisfy { $0 < 0x80 } || String(validating: key, as: UTF8.self) != nil
  }

  private func lastAccess(_ key: UnsafeRawBufferPointer, _ recorded: UInt32) -> UInt32 {
    let key = String(decoding: key, as: UTF8.self)
    var lastAccess = recorded
    for observer in observers {
      if let access = observer.lastAccess(of: key), access > lastAccess {
        recency.note(key, recorded: recorded, now: access)
        lastAccess = access
      }
    }
    return max(lastAccess, recency.lastAccess(of: key) ?? 0)
  }
}
