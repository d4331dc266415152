#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The environments that this process has open, each at most once.
///
/// Closing any descriptor of `lock.mdb` drops every POSIX lock that the process has on it, and other processes would
/// take its readers for dead. So nothing may open that file a second time, and everybody gets the same object.
enum Registry {
  struct Entry {
    /// `nil` while the object is going away; the entry stays until the C environment is closed.
    weak var environment: Environment?
    let control: UnsafeMutablePointer<Control>
    let data: FileIdentity
    /// `nil` when LMDB runs without a lock file, on a read-only file system.
    let lockFile: FileIdentity?
  }

  /// What the registry knows about a directory.
  enum Match {
    case none
    case open(Environment)
    /// The object is being destroyed on another thread.
    case goingAway
    /// The lock file is in use, with another data file.
    case replaced
  }

  private static let mutex: PlatformMutex = {
    let status = pthread_atfork(
      {
        Registry.mutex.lock()
        FaultInjection.mutex.lock()
      },
      {
        FaultInjection.mutex.unlock()
        Registry.mutex.unlock()
      },
      {
        // In the child: only stores, no allocation and no reference count.
        Registry.markForked()
        FaultInjection.mutex.unlock()
        Registry.mutex.unlock()
      })
    precondition(status == 0, "pthread_atfork failed")
    return PlatformMutex()
  }()

  // Guarded by `mutex`.
  private nonisolated(unsafe) static var entries: [Entry] = []

  static func lock() {
    mutex.lock()
  }

  static func unlock() {
    mutex.unlock()
  }

  /// The open environment for these files. The lock must be held.
  static func find(data: FileIdentity?, lockFile: FileIdentity?) -> Match {
    for index in entries.indices {
      if entries[index].control.pointee.current.contains(.forked) { continue }
      let sameData = data != nil && entries[index].data == data
      let sameLock = lockFile != nil && entries[index].lockFile == lockFile
      guard sameData || sameLock else { continue }
      guard let environment = entries[index].environment else { return .goingAway }
      return sameData ? .open(environment) : .replaced
    }
    return .none
  }

  /// The lock must be held.
  static func insert(_ entry: Entry) {
    entries.append(entry)
  }

  /// The lock must be held.
  static func remove(_ control: UnsafeMutablePointer<Control>) {
    entries.removeAll { $0.control == control }
  }

  private static func markForked() {
    entries.withUnsafeBufferPointer { entries in
      for index in entries.indices {
        entries[index].control.pointee.raise(.forked)
      }
    }
  }
}
