import Platform
import Synchronization

/// The directories that this process has open, and how far each of them is.
///
///     (none) ──▶ opening ──▶ open ──▶ closing ──▶ (none)
///
/// There is one entry for a directory, by device and inode, whatever paths lead to it. Opening waits for a store of the
/// same directory that is being opened or closed, and never for another directory: the lock is held for moments only, and
/// not while files are opened or closed.
///
/// A store whose directory was renamed keeps its entry; another directory at its old path is another one. A store whose
/// directory was deleted, also while it is being opened, goes over to the one that is at its path, if it can
/// ``claim(_:from:)`` it.
enum OpenDirectories {
  private enum Phase {
    case opening(by: UInt)
    case open(openers: Int)
    case closing
  }

  private struct Entry {
    /// Which opening made it. Its directory may be another one when that ends.
    let number: Int
    var phase: Phase
    var directory: Directory
    weak var store: DiskStore?
    /// The directories that it was, and that were deleted.
    var former: Set<FileIdentity> = []
  }

  private static let lock = ConditionLock()
  // Guarded by `lock`.
  private nonisolated(unsafe) static var entries: [FileIdentity: Entry] = [:]
  // Guarded by `lock`.
  private nonisolated(unsafe) static var lastNumber = 0

  /// The store of a directory: the one that this process has open, or the one that `make` opens.
  ///
  /// Each call is ended by one ``release(_:)``.
  ///
  /// - Parameter look: Opens the directory. It is called again if that was deleted, or another one
  ///   has taken its place, before its turn came.
  /// - Throws: What `look` and `make` throw, or `share`, which checks whether a store that is open will do. `.busy` on
  ///   a thread that is opening this very directory.
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
          // Its other openers go on; if it was the last, it is closed as if by its own opener.
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
          // Where another directory has taken its place, that is the one that is meant.
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
    /// The directory was deleted, and nobody has it: nothing could be made in it.
    case lookAgain
  }

  private static func begin(_ directory: Directory) throws(CacheError) -> Start {
    lock.lock()
    defer { lock.unlock() }
    while true {
      guard let (identity, entry) = find(directory) else {
        // Whoever was waited for may have gone over to the directory that took the place of this one.
        if isDeleted(directory) { return .lookAgain }
        lastNumber += 1
        insert(Entry(number: lastNumber, phase: .opening(by: PlatformThread.current), directory: directory))
        return .make(lastNumber)
      }
      switch entry.phase {
      case .open(let openers):
        if let store = entry.store {
          entries[identity]?.phase = .open(openers: openers + 1)
          return .share(store)
        }
        // It went without being closed, which only a store does that was never finished.
        entries[identity] = nil
      case .opening(let thread) where thread == PlatformThread.current:
        throw CacheError(.busy, "\(directory.path) is being opened by this very thread.")
      case .opening, .closing:
        lock.wait(for: .progress)
      }
    }
  }

  /// The entry of a directory, or of one that was at its path and is deleted. With the lock held.
  private static func find(_ directory: Directory) -> (FileIdentity, Entry)? {
    if let entry = entries[directory.identity] { return (directory.identity, entry) }
    return entries.first { $0.value.directory.path == directory.path && isDeleted($0.value.directory) }
      .map { ($0.key, $0.value) }
  }

  /// Whether a directory has no name any more. One that cannot be looked at is taken for one that has.
  private static func isDeleted(_ directory: Directory) -> Bool {
    let result = outcome { () throws(SystemError) -> Bool in
      guard try CacheDirectory(directory).isDeleted() else { return false }
      // Some file systems do not count the names of directories.
      return try !directory.isStillAtItsPath()
    }
    if case .success(true) = result { return true }
    return false
  }

  /// With the lock held.
  private static func insert(_ entry: Entry) {
    let identity = entry.directory.identity
    // A number that the system gives again: whoever was in that directory has let go of it.
    for other in Array(entries.keys) { entries[other]?.former.remove(identity) }
    entries[identity] = entry
  }

  private static func finishOpening(_ number: Int, _ store: DiskStore) {
    lock.withLock {
      if let identity = identity(ofOpening: number) {
        entries[identity]?.phase = .open(openers: 1)
        entries[identity]?.store = store
      }
      lock.signalAll(.progress)
    }
  }

  /// With the lock held.
  private static func identity(of store: DiskStore) -> FileIdentity? {
    entries.first { $0.value.store === store }?.key
  }

  /// With the lock held.
  private static func identity(ofOpening number: Int) -> FileIdentity? {
    entries.first { $0.value.number == number }?.key
  }

  private static func removeOpening(_ number: Int) {
    lock.withLock {
      if let identity = identity(ofOpening: number) { entries[identity] = nil }
      lock.signalAll(.progress)
    }
  }

  /// Lets a store whose directory was deleted, or its opening, go over to another one.
  ///
  /// - Throws: `.busy` if another store of this process is there.
  static func claim(_ directory: Directory, from old: FileIdentity) throws(CacheError) {
    try lock.withLock { () throws(CacheError) in
      if directory.identity == old { return }
      if let other = entries[directory.identity] {
        // An earlier attempt got so far.
        if other.former.contains(old) { return }
        throw CacheError(
          .busy,
          "The directory \(directory.path) was deleted, and this process has opened the one that took its place as "
            + "another cache. Close this one.")
      }
      guard let present = identity(from: old), var entry = entries.removeValue(forKey: present) else { return }
      entry.directory = directory
      entry.former.insert(old)
      insert(entry)
    }
  }

  /// The entry of who is in a directory, or has come from it: what an earlier attempt has claimed may be deleted, too.
  /// With the lock held.
  private static func identity(from old: FileIdentity) -> FileIdentity? {
    entries[old] != nil ? old : entries.first { $0.value.former.contains(old) }?.key
  }

  /// Ends one opening. Returns whether it was the last: then ``closed(_:)`` has to follow.
  static func release(_ store: DiskStore) -> Bool {
    lock.withLock {
      guard let identity = identity(of: store), case .open(let openers)? = entries[identity]?.phase else {
        return false
      }
      entries[identity]?.phase = openers > 1 ? .open(openers: openers - 1) : .closing
      return openers == 1
    }
  }

  /// The store is closed; the next one may be opened.
  static func closed(_ store: DiskStore) {
    lock.withLock {
      if let identity = identity(of: store) { entries[identity] = nil }
      lock.signalAll(.progress)
    }
  }
}
