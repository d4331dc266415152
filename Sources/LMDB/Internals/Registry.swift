import Synchronization

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
    var files: EnvironmentFiles
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
    // Calls are made with the lock held: its handler has to run before that of the seam.
    FaultInjection.prepareForForks()
    let status = pthread_atfork(
      { Registry.mutex.lock() },
      { Registry.mutex.unlock() },
      {
        // In the child: only stores, no allocation and no reference count.
        Registry.markForked()
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
  ///
  /// - Parameter exactly: Whether an environment with the same data file and another lock file is none of them.
  static func find(data: FileIdentity?, lockFile: FileIdentity?, exactly: Bool = false) -> Match {
    for index in entries.indices {
      if entries[index].control.pointee.current.contains(.forked) { continue }
      let sameData = data != nil && entries[index].files.data == data
      let sameLock = lockFile != nil && entries[index].files.lockFile == lockFile
      guard sameData || sameLock else { continue }
      if exactly, sameData, lockFile != entries[index].files.lockFile { continue }
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

  /// Gives the files of `source` to `target`, which had others. The lock must be held.
  static func move(from source: UnsafeMutablePointer<Control>, to target: UnsafeMutablePointer<Control>) {
    guard let files = files(of: source) else { return }
    update(target, files)
    remove(source)
  }

  /// The environment has other files now. The lock must be held.
  static func update(_ control: UnsafeMutablePointer<Control>, _ files: EnvironmentFiles) {
    guard let index = entries.firstIndex(where: { $0.control == control }) else { return }
    entries[index].files = files
  }

  /// The lock must be held.
  static func files(of control: UnsafeMutablePointer<Control>) -> EnvironmentFiles? {
    entries.first { $0.control == control }?.files
  }

  private static func markForked() {
    entries.withUnsafeBufferPointer { entries in
      for index in entries.indices {
        entries[index].control.pointee.raise(.forked)
        // A lock of the parent's would outlive it with this copy of the descriptor.
        let descriptor = entries[index].control.pointee.lockDescriptor.exchange(-1, ordering: .relaxed)
        if descriptor >= 0 { close(descriptor) }
      }
    }
  }
}
