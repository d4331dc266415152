import LMDB
import Logging
import Platform
import Synchronization

/// Gives the disk back what the database's file has and does not use: LMDB keeps free pages for ever. On the writer thread.
///
/// The file is looked at about every second. Where more than half of it is free, and more than ``leastFree``, for some
/// looks in a row, the free pages are made holes, in parts, so that nobody waits for long.
// Sendable: what changes is the writer thread's; the hook is set once, before that is started.
final class SpaceKeeper: @unchecked Sendable {
  /// Bytes. What is free below that is not worth the work.
  private static let leastFree = 4 << 20
  /// How many looks in a row have to find too much: what is free for a moment is soon used again.
  private static let leastLooks = 2
  /// How many rounds it rests after a pass, and after one that gave nothing back: a snapshot may keep what is free.
  private static let (rest, longRest) = (10, 60)
  /// Nanoseconds after which a part ends, with the hole that it is at. Commits wait for it, reads do not.
  private static let limitOfPart: Int64 = 20_000_000
  /// How many parts a round has at most; in between commits go first.
  private static let partsOfRound = 20

  private let database: EntryDatabase
  private let place: PlaceKeeper
  private let meter: SpaceMeter
  private let writer: Writer
  private let events: EventLog
  /// Whether the file system cannot do it.
  private var isUnsupported = false
  private var looks = 0
  private var restingRounds = 0
  /// Bytes on the disk when the pass began.
  private var allocatedBefore = 0
  /// The page to go on from, while a pass is under way.
  private var next: UInt64?

  /// Told before the file changes by anything but a commit.
  var willChangeFile: () -> Void = {}

  init(
    _ database: EntryDatabase, _ place: PlaceKeeper, _ meter: SpaceMeter, _ writer: Writer, events: EventLog
  ) {
    self.database = database
    self.place = place
    self.meter = meter
    self.writer = writer
    self.events = events
  }

  /// About every second.
  func makeRound() {
    if isUnsupported || database.isOutOfService.load(ordering: .acquiring) { return }
    do throws(CacheError) {
      if next == nil {
        if restingRounds > 0 { return restingRounds -= 1 }
        guard try isWorthIt() else { return looks = 0 }
        looks += 1
        if looks < Self.leastLooks { return }
        try beginPass()
      }
      for _ in 0..<Self.partsOfRound {
        try punch(from: next ?? 0)
        if next == nil { break }
        writer.letCommitsGoFirst()
      }
    } catch {
      // A later look tries it again; and what is wrong with the disk, the next commit tells.
      (next, looks, restingRounds) = (nil, 0, Self.rest)
    }
  }

  /// Everything at once, however little there is to gain.
  func sweep() throws(CacheError) {
    if isUnsupported || database.isOutOfService.load(ordering: .acquiring) { return }
    do throws(CacheError) {
      try beginPass()
      while let first = next { try punch(from: first) }
    } catch {
      next = nil
      if !isUnsupported { throw error }
    }
  }

  private func beginPass() throws(CacheError) {
    // What the last commit freed is kept for readers of the state before it. Two more commits, and nobody reads that.
    for _ in 0..<2 { try database.transact(activity) { _ in } }
    allocatedBefore = try meter.allocatedByDatabase()
    next = 0
  }

  private func punch(from first: UInt64) throws(CacheError) {
    willChangeFile()
    do throws(LMDBError) {
      next = try database.environment.punchFreePages(from: first, within: Self.limitOfPart) { () throws(LMDBError) in
        do throws(CacheError) { return try place.areFilesInPlace() } catch { return false }
      }.next
    } catch {
      isUnsupported = error.code == .system(EOPNOTSUPP)
      throw database.failure(error, during: activity)
    }
    if next != nil { return }
    let given = try allocatedBefore - meter.allocatedByDatabase()
    looks = 0
    restingRounds = given < Self.leastFree ? Self.longRest : Self.rest
    events.log(
      .debug, "cache space given back", ["directory": "\(database.directoryName)", "bytes": "\(max(0, given))"])
  }

  /// Whether more than half of what the file has on the disk is free.
  private func isWorthIt() throws(CacheError) -> Bool {
    let used = try meter.usedByDatabase()
    return try meter.allocatedByDatabase() - used > max(Self.leastFree, used)
  }

  private var activity: String { "Giving back space of \(database.directoryName)" }
}
