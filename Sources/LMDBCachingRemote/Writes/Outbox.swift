import Foundation
import LMDBCaching
import Logging
import Platform

/// What a queue keeps on the disk, so that it survives the process: a cache without limits, whose keys are the numbers
/// of the writes.
///
/// Every process has its own, in a folder that the processes of a machine share: a directory, and beside it a file that
/// is locked as long as the process lives. Those of processes that have ended without having sent everything are found
/// by the next one.
final class Outbox: Sendable {
  /// An outbox, and what was left in it.
  struct Opened: Sendable {
    let outbox: Outbox
    /// In order.
    let items: [WriteQueue.KeptItem]
    /// The greatest number of all that is kept, of what cannot be read as well; 0: nothing is.
    let last: Int
  }

  private static let lockSuffix = ".lock"
  /// Behind it nothing could follow. Nobody gets there, but whoever can write to the folder may say so.
  private static let greatestNumber = 1 << 62

  /// What the server knows the queue as.
  let identifier: String
  private let folder: Directory
  private let lock: FileLock
  private let disk: LMDBCache
  private let local: LMDBCache

  private init(_ identifier: String, _ folder: Directory, _ lock: consuming FileLock, _ local: LMDBCache) throws {
    self.identifier = identifier
    self.folder = folder
    self.lock = lock
    self.local = local
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.logger = local.logger
    disk = try LMDBCache(
      directory: URL(fileURLWithPath: folder.path(of: identifier)), configuration: configuration.withoutMemory)
  }

  /// Opens those that nobody has, and makes one if there is none. Empty ones that nobody has are removed.
  ///
  /// - Parameter local: Whose log is told of what fails.
  /// - Returns: The process's own first, whose writes are the first to be sent.
  static func open(in folder: URL, _ local: LMDBCache) throws(RemoteTierError) -> [Opened] {
    do {
      let folder = try Directory(path: folder.path, creating: true)
      var found: [Opened] = []
      for name in try folder.names() where name.hasSuffix(lockSuffix) {
        guard let outbox = try take(String(name.dropLast(lockSuffix.count)), in: folder, local) else { continue }
        let kept = try outbox.kept()
        if kept.items.isEmpty {
          outbox.end()
        } else {
          found.append(Opened(outbox: outbox, items: kept.items, last: kept.last))
        }
      }
      while found.isEmpty {
        if let outbox = try take(UUID().uuidString, in: folder, local) {
          found = [Opened(outbox: outbox, items: [], last: 0)]
        }
      }
      return found
    } catch {
      throw RemoteTierError(
        .notKept, "What waits to be sent cannot be kept in \(folder.path). Give it a folder of its own.",
        underlying: error)
    }
  }

  private static func take(_ identifier: String, in folder: Directory, _ local: LMDBCache) throws -> Outbox? {
    guard UUID(uuidString: identifier) != nil else { return nil }
    let name = identifier + lockSuffix
    let lock = FileLock(try folder.create(name, requiresOneName: true))
    // Whoever had it may have removed it meanwhile.
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    return try Outbox(identifier, folder, lock, local)
  }

  /// Ends its use; it is removed if nothing is in it. Waits for the disk.
  func end() {
    attempt("closing") { [self] in
      let isEmpty = try disk.entries().isEmpty
      try disk.close()
      if isEmpty {
        try folder.removeTree(identifier)
        try folder.remove(identifier + Self.lockSuffix)
      }
    }
    attempt("unlocking") { [self] in try lock.unlock() }
  }

  /// What fails here loses nothing: it is found and sent by the next process, and has no effect then.
  private func attempt(_ activity: String, _ body: () throws -> Void) {
    do { try body() } catch {
      local.log(
        .warning, "\(activity) what waits to be sent failed", ["directory": "\(path)", "error": "\(error)"])
    }
  }

  private var path: String { folder.path(of: identifier) }

  // MARK: Writes

  /// Survives the death of the process when it returns, and a power cut a moment later.
  func keep(_ item: WriteQueue.Item) throws(RemoteTierError) {
    do throws(CacheError) {
      try disk.set(item.kept, forKey: Self.key(item.number))
    } catch {
      throw RemoteTierError(
        .notKept,
        "The write of \(quoted(item.key)) cannot be kept until it is sent. Make room on the disk, and write again.",
        underlying: error)
    }
  }

  /// What is not removed, since the disk fails, is sent again by the next process, and has no effect: it is numbered.
  func remove(_ numbers: [Int]) {
    if numbers.isEmpty { return }
    attempt("removing") { [self] in try disk.removeAll(.keys(numbers.map(Self.key))) }
  }

  /// A write stays that cannot be read: another version, or another configuration, may.
  func noteUnreadable(_ number: Int, _ error: any Error) {
    local.log(
      .error, "a write that waits to be sent cannot be read, and stays where it is",
      ["directory": "\(path)", "entry": "\(Self.key(number))", "error": "\(error)"])
  }

  /// What was kept and can be read, in order, and the greatest number of all of it.
  private func kept() throws(CacheError) -> (items: [WriteQueue.KeptItem], last: Int) {
    var items: [WriteQueue.KeptItem] = []
    var last = 0
    for entry in try disk.entries() {
      guard let number = Int(entry.key, radix: 16), 1...Self.greatestNumber ~= number,
        Self.key(number) == entry.key
      else { continue }
      last = max(last, number)
      do throws(CacheError) {
        if let bytes = try disk.value(Data.self, forKey: entry.key) {
          items.append(WriteQueue.KeptItem(number: number, bytes: bytes))
        }
      } catch {
        guard error.isOfOneEntry else { throw error }
        noteUnreadable(number, error)
      }
    }
    return (items, last)
  }

  /// Sixteen digits, so that the order of the keys is that of the numbers.
  private static func key(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
