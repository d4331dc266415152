package import LMDB
package import Platform

extension CacheReader {
  /// Identifies a state of the database, to detect changes.
  package struct Position: Hashable, Sendable {
    /// Another file's transaction numbers start over.
    package let file: FileIdentity
    package let transactionID: UInt64
  }

  /// The last committed transaction, regardless of journaled writes.
  package func position() throws(CacheError) -> Position {
    try look(activity) { (snapshot) throws(ReadingFailure) in
      Position(file: snapshot.file.identity, transactionID: snapshot.file.transactionID)
    }
  }

  /// The contents of a cache and the use of its files.
  package struct Figures: Sendable {
    /// `nil` before the first write.
    package var durability: Durability?
    /// Includes expired entries.
    package var entries = 0
    package var totalCost = 0
    package var pendingWrites = 0
    /// Whether `entries` and `totalCost` include journaled writes, which a removal of many entries prevents.
    package var countsPendingWrites = true
    /// See ``CacheStatistics``; space that processes reserve in the value log counts as dead.
    package var liveBytes = 0
    package var deadBytes = 0
    package var freeBytes = 0
    /// The directory's size on disk; `nil` if some files are inaccessible.
    package var bytesOnDisk: Int?
    package var database: DataFileFigures
    /// `nil` if unknown.
    package var readers: ReaderTable?
  }

  /// Returns the figures without a scan.
  package func figures() throws(CacheError) -> Figures {
    var (figures, usedValues) = try look(activity) { (snapshot) throws(ReadingFailure) in
      var figures = Figures(database: snapshot.file.figures)
      if case .metadata(let metadata)? = try snapshot.metadata() {
        figures.durability = metadata.durability
        let change = try snapshot.pendingChange()
        figures.entries = max(0, metadata.count.addingClamped(change?.entries ?? 0))
        figures.totalCost = Int(clamping: metadata.cost + (change?.cost ?? 0))
        figures.countsPendingWrites = change != nil
      }
      figures.pendingWrites = snapshot.pending.count
      let used = try snapshot.valueUsage().values.reduce(0) { $0.addingClamped($1.bytes) }
      return (figures, used)
    }
    try calling(activity) { () throws(SystemError) in
      let used = figures.database.usedBytes
      let allocated = try place.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
      figures.liveBytes = used.addingClamped(usedValues)
      figures.freeBytes = max(0, allocated - used)
      figures.bytesOnDisk = try Self.ifAllowed { () throws(SystemError) in try place.allocatedBytes() }
      let segments = try Self.ifAllowed { () throws(SystemError) in
        try ValueFolder(cache: place).segments().reduce(0) {
          $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
        }
      }
      figures.deadBytes = max(0, (segments ?? 0) - usedValues)
    }
    figures.readers = try storing(activity) { () throws(LMDBError) in try ReaderTable.read(place) }
    return figures
  }

  /// Returns `nil` if access is denied.
  static func ifAllowed<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
    do throws(SystemError) {
      return try body()
    } catch {
      if error.finding == nil, error.errno == EACCES { return nil }
      throw error
    }
  }
}
