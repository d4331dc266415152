import Platform
import Synchronization

/// The directories that this process has open, each in one of these phases:
///
///     (none) ──▶ opening ──▶ open ──▶ closing ──▶ (none)
///
/// A directory has one entry, by device and inode, whatever its path. Opening waits only while a store of the same
/// directory opens or closes: the lock is never held during file operations.
///
/// A store whose directory was renamed keeps its entry. A store whose directory was deleted, even during opening,
/// switches to the one now at its path, if it can ``claim(_:from:)`` it.
enum OpenDirectories {
  private enum Phase {
    case opening(by: UInt)
    case open(openers: Int)
    case closing
  }

  private struct Entry {
    /// Identifies the opening, whose directory may change before it ends.
    let number: Int
    var phase: Phase
    var directory: Directory
    weak var store: DiskStore?
    /// The deleted directories that it replaced.
    var former: Set<FileIdentity> = []
  }

  // Unchecked: used with `lock` held.
  private final class Table: @unchecked Sendable {
    var entries: [FileIdentity: Entry] = [:]
    var lastNumber = 0
  }

  private static let lock = ConditionLock()
  private static let table = Table()

  /// Returns the open store of a directory, or the one that `make` opens. Balance each call with ``release(_:)``.
  ///
  /// - Parameters:
  ///   - look: Opens the directory; called again if that was deleted or replaced before its turn came.
  ///   - share: Checks that an open store suits this opener.
  /// - Throws: The errors of the closures; `.busy` on a thread that is already opening this directory.
  static func open(
    _ look: () throws(CacheError) -> CacheDirectory, share: (DiskStore) throws(CacheError) -> Void,
    make: (CacheDirectory) throws(CacheError) -> DiskStore
  ) throws(CacheError) -> DiskStore {
    var attempts = 0
    while true {
      let cache = try look()
      attempts += 1
      switch try begin(cache.directory) {
      case .lookAgain: continue
      case .share(let store):
        do throws(CacheError) {
          try share(store)
          return store
        } catch {
          // Other openers keep the store; if there are none, this closes it.
          _ = outcome { () throws(CacheError) in try store.release() }
          throw error
        }
      case .make(let number):
        do throws(CacheError) {
          let store = try make(cache)
          finishOpening(number, store)
          return store
        } catch {
          removeOpening(number)
          // If the directory was replaced, open the replacement.
          if attempts < attemptLimit, isElsewhere(cache.directory) { continue }
          throw error
        }
      }
    }
  }

  private static let attemptLimit = 20

  private static func isElsewhere(_ directory: Directory) -> Bool {
    if case .success(false) = outcome({ () throws(SystemError) in try directory.isStillAtItsPath() }) { return true }
    return false
  }

  private enum Start {
    case share(DiskStore)
    case make(Int)
    /// The directory was deleted and no store has it, so nothing can be created in it.
    case lookAgain
  }

  private static func begin(_ directory: Directory) throws(CacheError) -> Start {
    lock.lock()
    defer { lock.unlock() }
    while true {
      guard let (identity, entry) = find(directory) else {
        // The store that was waited for may have moved to this directory's replacement.
        if isDeleted(directory) { return .lookAgain }
        table.lastNumber += 1
        insert(Entry(number: table.lastNumber, phase: .opening(by: PlatformThread.current), directory: directory))
        return .make(table.lastNumber)
      }
      switch entry.phase {
      case .open(let openers):
        if let store = entry.store {
          table.entries[identity]?.phase = .open(openers: openers + 1)
          return .share(store)
        }
        // Deallocated without closing: only a store whose opening failed is.
        table.entries[identity] = nil
      case .opening(let thread) where thread == PlatformThread.current:
        throw CacheError(.busy, "\(directory.path) is being opened by this very thread.")
      case .opening, .closing:
        lock.wait(for: .progress)
      }
    }
  }

  /// The entry of the directory, or of a deleted one at the same path. Requires the lock.
  private static func find(_ directory: Directory) -> (FileIdentity, Entry)? {
    if let entry = table.entries[directory.identity] { return (directory.identity, entry) }
    return table.entries.first { $0.value.directory.path == directory.path && isDeleted($0.value.directory) }
      .map { ($0.key, $0.value) }
  }

  /// Whether the directory was unlinked; `false` if that cannot be determined.
  private static func isDeleted(_ directory: Directory) -> Bool {
    let result = outcome { () throws(SystemError) -> Bool in
      guard try CacheDirectory(directory).isDeleted() else { return false }
      // Some file systems do not count directory links.
      return try !directory.isStillAtItsPath()
    }
    if case .success(true) = result { return true }
    return false
  }

  private static func insert(_ entry: Entry) {
    let identity = entry.directory.identity
    // The system reused an inode number, so the former directory is gone.
    for other in Array(table.entries.keys) { table.entries[other]?.former.remove(identity) }
    table.entries[identity] = entry
  }

  private static func finishOpening(_ number: Int, _ store: DiskStore) {
    lock.withLock {
      if let identity = identity(ofOpening: number) {
        table.entries[identity]?.phase = .open(openers: 1)
        table.entries[identity]?.store = store
      }
      lock.signalAll(.progress)
    }
  }

  private static func identity(of store: DiskStore) -> FileIdentity? {
    table.entries.first { $0.value.store === store }?.key
  }

  private static func identity(ofOpening number: Int) -> FileIdentity? {
    table.entries.first { $0.value.number == number }?.key
  }

  private static func removeOpening(_ number: Int) {
    lock.withLock {
      if let identity = identity(ofOpening: number) { table.entries[identity] = nil }
      lock.signalAll(.progress)
    }
  }

  /// Moves a store whose directory was deleted, or its opening, to another directory.
  ///
  /// - Throws: `.busy` if another store of this process is there.
  static func claim(_ directory: Directory, from old: FileIdentity) throws(CacheError) {
    try lock.withLock { () throws(CacheError) in
      if directory.identity == old { return }
      if let other = table.entries[directory.identity] {
        // An earlier attempt claimed it.
        if other.former.contains(old) { return }
        throw CacheError(
          .busy,
          "The directory \(directory.path) was deleted, and this process has opened the one that took its place as "
            + "another cache. Close this one.")
      }
      guard let present = identity(from: old), var entry = table.entries.removeValue(forKey: present) else { return }
      entry.directory = directory
      entry.former.insert(old)
      insert(entry)
    }
  }

  /// The entry in a directory, or that came from it: a directory claimed earlier may be deleted too. Requires the lock.
  private static func identity(from old: FileIdentity) -> FileIdentity? {
    table.entries[old] != nil ? old : table.entries.first { $0.value.former.contains(old) }?.key
  }

  /// Ends one opening. Returns whether it was the last; the caller must then call ``closed(_:)``.
  static func release(_ store: DiskStore) -> Bool {
    lock.withLock {
      guard let identity = identity(of: store), case .open(let openers)? = table.entries[identity]?.phase else {
        return false
      }
      table.entries[identity]?.phase = openers > 1 ? .open(openers: openers - 1) : .closing
      return openers == 1
    }
  }

  static func closed(_ store: DiskStore) {
    lock.withLock {
      if let identity = identity(of: store) { table.entries[identity] = nil }
      lock.signalAll(.progress)
    }
  }
}
