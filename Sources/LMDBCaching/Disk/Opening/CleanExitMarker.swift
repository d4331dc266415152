import LMDB
import Logging
import Platform
import Synchronization

/// Keeps the mark of what is sound while a cache is open: see ``CleanExitMark``.
// Sendable: what changes is the writer thread's, or opening's before that is started; `makeVoid` uses none of it.
final class CleanExitMarker: @unchecked Sendable {
  private let durability: Durability
  private let database: EntryDatabase
  private let place: PlaceKeeper
  private let events: EventLog
  /// The last transaction at the last look, and the one as of which the state is marked. The writer thread's.
  private var lastPosition: UInt64
  private var markedPosition: UInt64
  /// Whether the file is marked as one that is written to, as far as this process knows. The writer thread's.
  private var isMarkedInUse = false

  init(_ place: PlaceKeeper, _ database: EntryDatabase, durability: Durability, events: EventLog) {
    self.place = place
    self.database = database
    self.durability = durability
    self.events = events
    lastPosition = database.environment.lastPosition()
    markedPosition = lastPosition
  }

  /// After opening: what is there is as it was when it was sound, or it was verified.
  static func markOpened(_ directory: Directory, _ durability: Durability, wasVerified: Bool) throws(CacheError) {
    try calling("Opening the cache in \(directory.path)") { () throws(SystemError) in
      if case .mark(let mark) = try CleanExitMark.read(in: directory), try mark.holds(in: directory) { return }
      try CleanExitMark.write(in: directory, durability: durability, .run, wasVerified: wasVerified)
    }
  }

  /// Makes the next opening verify the database. Any thread.
  func makeVoid() {
    do throws(SystemError) {
      try CleanExitMark.makeVoid(in: place.directory, durability: durability)
    } catch {
      events.log(.error, "cache mark not removed", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }

  /// Before this process changes the file: whatever becomes of it, the file stays sound.
  func willCommit() {
    if !isMarkedInUse { isMarkedInUse = mark(.use) }
  }

  /// The files may be others now.
  func didReopen() { isMarkedInUse = false }

  /// Marks the state if nobody has written since the last look. On the writer thread, at times.
  func makeRound() {
    let position = database.environment.lastPosition()
    defer { lastPosition = position }
    if position != lastPosition {
      // Another process may have found the file at rest in between.
      if isMarkedInUse { isMarkedInUse = mark(.use) }
    } else if isMarkedInUse || position != markedPosition {
      isMarkedInUse = false
      if mark(.run) { markedPosition = position }
    }
  }

  /// Returns whether the file is marked. If not, the next opening verifies; and what is wrong with the disk, the next
  /// commit tells.
  private func mark(_ scope: CleanExitMark.Scope) -> Bool {
    if isOutOfService { return false }
    do throws(SystemError) {
      guard try CleanExitMark.write(in: place.directory, durability: durability, scope, wasVerified: false)
      else { return false }
    } catch {
      return false
    }
    // Another thread may have met damage in between.
    if isOutOfService { makeVoid() }
    return !isOutOfService
  }

  /// After the last commit of the last process. Without the mark the next opening verifies.
  func markCleanExit() {
    if isOutOfService { return }
    do throws(CacheError) {
      guard try calling(activity, { () throws(SystemError) in try place.processLock.tryOwn() }) else { return }
      let directory = place.directory
      let isDone = try calling(activity) { () throws(SystemError) in
        guard case .mark(let mark) = try CleanExitMark.read(in: directory), mark.scope == .disk else { return false }
        return try mark.holds(in: directory)
      }
      if isDone { return }
      try database.synchronize()
      _ = try calling(activity) { () throws(SystemError) in
        try CleanExitMark.write(in: directory, durability: durability, .disk, wasVerified: false)
      }
    } catch {
      events.log(
        .warning, "cache not marked as closed", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }

  private var activity: String { "Marking the cache in \(database.directoryName)" }

  private var isOutOfService: Bool { database.isOutOfService.load(ordering: .acquiring) }
}
