import Foundation
import Platform

/// A new cache that is built next to its final place under another name, and renamed when it is whole, verified and
/// durable. A killed process leaves a directory whose name begins with ``prefix``, which may be deleted.
final class StagedCache {
  static let prefix = ".lmdb-cache-"
  private static let batchCount = 256
  private static let batchSize = 1 << 20

  private let parent: Directory
  let name: String
  private let cache: DiskCache
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
      cache = try DiskCache(directory: URL(fileURLWithPath: directory.path), configuration: configuration)
      // Keep every entry.
      cache.autoTrimInterval = .zero
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
    try calling("Synchronizing \(path)") { () throws(SystemError) in
      try parent.subdirectory(name)?.synchronizeTree()
    }
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
