import LMDB
import Logging
import Platform
import Synchronization

/// Maintains the ``CleanExitMark`` while a cache is open.
// Sendable: only the writer thread, or opening before it starts, changes state; `makeVoid` uses none of it.
final class CleanExitMarker: @unchecked Sendable {
  private let durability: Durability
  private let database: EntryDatabase
  private let place: PlaceKeeper
  private let events: EventLog
  /// The last transaction at the last check, and at the last mark. Writer thread only.
  private var lastPosition: UInt64
  private var markedPosition: UInt64
  /// Whether the mark has the scope `use`, as far as this process knows. Writer thread only.
  private var isMarkedInUse = false

  init(_ place: PlaceKeeper, _ database: EntryDatabase, durability: Durability, events: EventLog) {
    self.place = place
    self.database = database
    self.durability = durability
    self.events = events
    lastPosition = database.environment.lastPosition()
    markedPosition = lastPosition
  }

  /// Marks the file after opening, when it was either marked sound before or verified.
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

  /// Call before this process changes the file: the mark then covers every later commit.
  func willCommit() {
    if !isMarkedInUse { isMarkedInUse = mark(.use) }
  }

  func didReopen() { isMarkedInUse = false }

  /// Marks the state if no process has written since the last call. Writer thread, periodically.
  func makeRound() {
    let position = database.environment.lastPosition()
    defer { lastPosition = position }
    if position != lastPosition {
      // Another process may have seen the file idle since, and changed the scope.
      if isMarkedInUse { isMarkedInUse = mark(.use) }
    } else if isMarkedInUse || position != markedPosition {
      isMarkedInUse = false
      if mark(.run) { markedPosition = position }
    }
  }

  /// Returns whether the file is marked. If not, the next opening verifies. The next commit reports any disk error.
  private func mark(_ scope: CleanExitMark.Scope) -> Bool {
    if isOutOfService { return false }
    do throws(SystemError) {
      guard try CleanExitMark.write(in: place.directory, durability: durability, scope, wasVerified: false)
      else { return false }
    } catch {
      return false
    }
    // Another thread may have found damage since the first check.
    if isOutOfService { makeVoid() }
    return !isOutOfService
  }

  /// Call after the last commit of the last process. Without the mark, the next opening verifies.
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
