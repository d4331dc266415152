package import Foundation
import LMDB
import Platform

/// Replaces a cache with a copy of a backup.
///
/// The backup is verified and copied next to the cache; the copy is verified and takes the cache's place while no
/// process has it open. The old cache stays until then.
package struct CacheRestoration {
  package struct Report {
    package var backup: BackupReport
    /// The new place of the former cache; `nil` if it was missing or was removed.
    package var former: URL?
    /// The parts of the backup that could not be checked, and files that could not be removed.
    package var notices: [String]
  }

  let source: CacheReader
  let removesFormer: Bool
  let options: CacheCopying.Options

  /// - Parameters:
  ///   - url: The place of the cache.
  ///   - removingFormer: Whether to remove an existing cache instead of renaming it.
  /// - Returns: `nil` if cancelled.
  /// - Throws: `.busy` if a process has the cache open, or writes to the backup; `.damagedDatabase` or
  ///   `.corruptedRecord` for a damaged backup; `.invalidDirectory` for a directory that is not a cache. The cache is
  ///   unchanged then.
  package static func run(
    from source: CacheReader, to url: URL, removingFormer: Bool, _ options: CacheCopying.Options
  ) throws(CacheError) -> Report? {
    try CacheRestoration(source: source, removesFormer: removingFormer, options: options).run(url)
  }

  private func run(_ url: URL) throws(CacheError) -> Report? {
    let target = try calling("Looking at \(url.path)") { () throws(SystemError) in
      guard let target = try Directory(existing: url.path) else { return nil as Directory? }
      return try target.isEmpty() ? nil : target
    }
    let place: NewPlace
    if let target {
      place = try self.place(of: target)
      // Checked before the work, and again after it.
      try alone(with: target) { _ in }
      // The copy would belong to this user, and the cache's owner could not open it.
      guard try calling("Looking at \(url.path)", { () throws(SystemError) in try target.isOwnedByUser() }) else {
        throw CacheError(
          .insecureDirectory, "\(target.path) belongs to another user. Restore as that user; nothing was changed.")
      }
    } else {
      place = try NewPlace(url)
    }
    let isSourceWithin = source.place.path.hasPrefix(place.path + "/")
    if place.path == source.place.path || place.isWithin(source.place) || isSourceWithin {
      throw CacheError(
        .invalidArgument, "\(place.path) and the backup in \(source.place.path) are in each other. Give another place.")
    }
    // Copying the entries verifies their checksums.
    _ = try calling("Verifying the backup in \(source.place.path)") {
      try CacheInspection.verify(directory: source.directory)
    }
    var former: URL?
    var notices: [String] = []
    let report = try CacheCopying(options: options).copy(source, to: place) { (staged, place) throws(CacheError) in
      guard let target else { return try staged.move(to: place) }
      let replaced = try replace(target, at: place, with: staged)
      former = replaced
      guard removesFormer else { return }
      if let notice = removeFormer(replaced, in: place) { notices.append(notice) } else { former = nil }
    }
    return report.map { Report(backup: $0, former: former, notices: source.notices + notices) }
  }

  private func place(of directory: Directory) throws(CacheError) -> NewPlace {
    // Its path has no links in it.
    let url = URL(fileURLWithPath: directory.path)
    let path = url.deletingLastPathComponent().path
    let parent = try calling("Looking at \(path)") { () throws(SystemError) in try Directory(path: path) }
    return NewPlace(parent: parent, name: url.lastPathComponent)
  }

  // MARK: The cache that is there

  private static let lockTimeout: Int64 = 2_000_000_000

  /// Calls `body` while the cache is closed in all processes and cannot be opened.
  private func alone<R>(with target: Directory, _ body: (ProcessLock) throws(CacheError) -> R) throws(CacheError) -> R {
    let opening = try OpeningLock(target, timeout: Self.lockTimeout)
    try CacheDirectory(target).requireCache()
    let lock = try calling("Locking the cache in \(target.path)") { () throws(SystemError) in
      let lock = try ProcessLock(target, timeout: Self.lockTimeout)
      return try lock.tryOwn() ? lock : nil
    }
    guard let lock else {
      throw CacheError(
        .busy, "A process has the cache in \(target.path) open. Close it there first; nothing was changed.")
    }
    let result = try body(lock)
    opening.end()
    return result
  }

  private func replace(_ target: Directory, at place: NewPlace, with staged: StagedCache) throws(CacheError) -> URL {
    let name = try alone(with: target) { _ throws(CacheError) in
      try calling("Putting the copy in the place of \(place.path)") { () throws(SystemError) in
        guard try place.parent.identity(of: place.name) == target.identity else {
          throw SystemError("renameat", place.path, errno: EBUSY)
        }
        let former = try exchange(staged, with: place)
        do throws(SystemError) { try place.parent.synchronize() } catch {
          try undo(staged, at: place, former)
          throw error
        }
        staged.didMove()
        return former
      }
    }
    return URL(fileURLWithPath: place.parent.path(of: name))
  }

  private func undo(_ staged: StagedCache, at place: NewPlace, _ former: String) throws(SystemError) {
    if former == staged.name, try place.parent.exchange(staged.name, place.name) { return }
    try place.parent.rename(place.name, to: staged.name)
    try place.parent.rename(former, to: place.name)
  }

  /// Returns why the former cache could not be removed, if so. The copy is in its place either way.
  private func removeFormer(_ former: URL, in place: NewPlace) -> String? {
    do throws(SystemError) {
      try place.parent.removeTree(former.lastPathComponent)
      return nil
    } catch {
      return "\(former.path), which was there before, could not be removed: \(error). Remove it."
    }
  }

  private func exchange(_ staged: StagedCache, with place: NewPlace) throws(SystemError) -> String {
    let former = try formerName(of: place)
    if try place.parent.exchange(staged.name, place.name) {
      do throws(SystemError) {
        try place.parent.rename(staged.name, to: former)
        return former
      } catch {
        // The cache takes the name that the copy had.
        return staged.name
      }
    }
    // Without an atomic exchange, a crash in between leaves the cache under its new name.
    try place.parent.rename(place.name, to: former)
    do throws(SystemError) {
      try place.parent.rename(staged.name, to: place.name)
    } catch {
      try place.parent.rename(former, to: place.name)
      throw error
    }
    return former
  }

  private func formerName(of place: NewPlace) throws(SystemError) -> String {
    var number = 1
    while true {
      let name = "\(place.name).former-\(number)"
      if try place.parent.kind(of: name) == nil { return name }
      number += 1
    }
  }
}

/// A new cache that is built next to its final place under another name, and renamed when it is whole, verified and
/// durable. A killed process leaves a directory whose name begins with ``prefix``, which may be deleted.
final class StagedCache {
  static let prefix = ".lmdb-cache-"
  private static let batchCount = 256
  private static let batchSize = 1 << 20

  private let parent: Directory
  let name: String
  private let cache: LMDBCache
  private var pending: [EntryRecord] = []
  private var pendingSize = 0
  private(set) var report = BackupReport()
  /// Whether it has been moved; its old name then belongs to another directory, if any.
  private var isMoved = false

  init(for place: NewPlace, _ configuration: CacheConfiguration) throws(CacheError) {
    parent = place.parent
    let name = Self.prefix + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    self.name = name
    let directory = try calling("Making a directory beside \(place.path)") { () throws(SystemError) in
      try place.parent.makeSubdirectory(name)
    }
    do throws(CacheError) {
      cache = try LMDBCache(directory: URL(fileURLWithPath: directory.path), configuration: configuration.withoutMemory)
      // Keep every entry.
      cache.disk.autoTrimInterval = .zero
    } catch {
      Self.remove(name, in: place.parent)
      throw error
    }
  }

  private var path: String { parent.path(of: name) }

  func append(_ record: EntryRecord) throws(CacheError) {
    pending.append(record)
    pendingSize += record.size
    report.entries += 1
    report.bytes += record.size
    if pending.count >= Self.batchCount || pendingSize >= Self.batchSize { try storePending() }
  }

  func note(damage: CacheError) { report.note(damage) }

  private func storePending() throws(CacheError) {
    if pending.isEmpty { return }
    _ = try cache.take(pending, replacing: true)
    pending.removeAll(keepingCapacity: true)
    pendingSize = 0
  }

  /// Commits, syncs and closes the cache, and verifies it.
  ///
  /// - Throws: errors of writing; `.damagedDatabase` or `.corruptedRecord` if verification fails.
  func complete(isCancelled: () -> Bool) throws {
    try storePending()
    try cache.flush()
    try cache.close()
    try calling("Synchronizing \(path)") { () throws(SystemError) in try parent.subdirectory(name)?.synchronizeTree() }
    if isCancelled() { return }
    let found = try CacheInspection.verify(
      directory: URL(fileURLWithPath: path), checksValues: true, isCancelled: isCancelled)
    if isCancelled() { return }
    guard found.damagedEntries == 0, found.entries == report.entries else {
      throw CacheError(
        .corruptedRecord,
        "The copy in \(path) does not have what was written to it: \(found.damagedEntries) of \(report.entries) entries are "
          + "damaged, and \(found.entries) were found. The disk may be failing. Nothing is left of it.",
        underlying: found.damage.first)
    }
  }

  /// Renames it to an unused name, or over an empty directory.
  func move(to place: NewPlace) throws(CacheError) {
    try calling("Giving the copy its name \(place.path)") { () throws(SystemError) in
      try parent.rename(name, to: place.name)
      do throws(SystemError) {
        try parent.synchronize()
      } catch {
        try parent.rename(place.name, to: name)
        throw error
      }
    }
    isMoved = true
  }

  func didMove() { isMoved = true }

  func abandon() {
    if isMoved { return }
    // An error was reported before; the files go anyway.
    _ = outcome { () throws(CacheError) in try cache.close() }
    Self.remove(name, in: parent)
  }

  /// Leaves undeletable files: another failure is reported.
  private static func remove(_ name: String, in parent: Directory) {
    _ = outcome { () throws(SystemError) in try parent.removeTree(name) }
  }
}

// Complete stored entries, for copying between caches.

extension LMDBCache {
  /// Calls `body` with a snapshot of the live entries and their values, one at a time, until it returns `false`.
  /// Includes earlier writes of this process. The files grow during the call if others write. Keys are not in order:
  /// the longest come last.
  ///
  /// - Parameter onDamage: Called with the error of an unreadable entry; reading continues if it returns.
  package func forEachRecord(
    withPrefix prefix: String = "", onDamage: (CacheError) throws -> Void, _ body: (EntryRecord) throws -> Bool
  ) throws {
    try checkOpen()
    try store.withSnapshot { transaction in
      Result {
        var failure: (any Error)?
        try store.database.accessing("Reading \(store.directory)") { () throws(LMDBError) in
          let snapshot = try EntrySnapshot(transaction, store.database.databaseKey, at: store.clock.now)
          _ = try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
            try snapshot.scan(prefix, .kept, withUnreadable: true) { found in
              do {
                switch outcome({ () throws(CacheError) in try snapshot.record(found, reader.values) }) {
                case .success(let record): return try body(record)
                case .failure(let error) where error.isOfOneEntry: try onDamage(error)
                case .failure(let error): throw error
                }
                return true
              } catch {
                failure = error
                return false
              }
            }
          }
        }
        if let failure { throw failure }
      }
    }.get()
  }
}
