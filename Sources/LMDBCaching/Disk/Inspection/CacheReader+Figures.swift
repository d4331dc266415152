package import LMDB
package import Platform

extension CacheReader {
  /// Which state the database is in: for who asks again and again whether there is something new.
  package struct Position: Hashable, Sendable {
    /// Another file is another database, whose numbers begin anew.
    package let file: FileIdentity
    package let transactionID: UInt64
  }

  /// The last committed transaction. What waits in journals is not told by it.
  package func position() throws(CacheError) -> Position {
    try look(activity) { (snapshot) throws(ReadingFailure) in
      Position(file: snapshot.file.identity, transactionID: snapshot.file.transactionID)
    }
  }

  /// What a cache holds and what its files are used for.
  package struct Figures: Sendable {
    /// `nil`: nothing was ever written.
    package var durability: Durability?
    /// Entries, expired ones included, and the sum of their costs.
    package var entries = 0
    package var totalCost = 0
    /// Writes that wait in journals.
    package var pendingWrites = 0
    /// Whether what these make of entries and costs is counted. Of a removal of many entries it would take a scan to know.
    package var countsPendingWrites = true
    /// See ``CacheStatistics``. What processes have set aside in the value log for the next values counts as dead.
    package var liveBytes = 0
    package var deadBytes = 0
    package var freeBytes = 0
    /// Bytes that the directory's files occupy on the disk; `nil` if some cannot be looked at.
    package var bytesOnDisk: Int?
    package var database: DataFileFigures
    /// `nil` where it cannot be told.
    package var readers: ReaderTable?
  }

  /// Nothing is scanned.
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

  /// Returns `nil` for what may not be looked at.
  static func ifAllowed<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
    do throws(SystemError) {
      return try body()
    } catch {
      if error.finding == nil, error.errno == EACCES { return nil }
      throw error
    }
  }
}
