import Platform

/// The environments that this process has open, each at most once.
///
/// Closing any descriptor of `lock.mdb` drops every POSIX lock that the process has on it, and other processes would
/// take its readers for dead. So nothing may open that file a second time, and everybody gets the same object.
///
/// The lock is held for moments only, never while anything is waited for, or a file is opened or closed: who does that
/// marks the entry busy, and only those who want the same files wait for it.
struct Registry {
  /// What is known of a directory's files.
  enum Match {
    case none
    case open(Environment)
    /// Another thread is opening or closing them, or the object is being destroyed.
    case busy
    /// The lock file is in use, with another data file.
    case replaced
  }

  /// Who else of this process has a lock file.
  enum LockFileUse {
    case none
    /// An environment that is being closed or opened.
    case busy
    case open
  }

  private struct Entry {
    let number: Int
    let directory: FileIdentity
    /// `nil` while it is being opened.
    var control: UnsafeMutablePointer<Control>?
    /// `nil` also while the object is going away; the entry stays until the C environment is closed.
    weak var environment: Environment?
    /// `nil` while it is being opened for the first time.
    var files: EnvironmentFiles?
    var isBusy = false
  }

  private var entries: [Entry] = []
  private var lastNumber = 0

  // MARK: -

  private static let mutex = PlatformMutex()

  // Guarded by `mutex`.
  private nonisolated(unsafe) static var shared = Registry()

  /// Runs `body` with the registry's lock. It must not let go of an environment's last reference.
  static func withLock<R>(_ body: (inout Registry) -> R) -> R {
    mutex.lock()
    defer { mutex.unlock() }
    return body(&shared)
  }

  // MARK: -

  /// The open environment for these files.
  ///
  /// - Parameter exactly: Whether an environment with the same data file and another lock file is none of them.
  func find(
    directory: FileIdentity, data: FileIdentity?, lockFile: FileIdentity?, exactly: Bool
  ) -> Match {
    for entry in entries {
      let isSameData = data != nil && entry.files?.data == data
      let isSameLock = lockFile != nil && entry.files?.lockFile == lockFile
      guard isSameData || isSameLock else {
        if entry.isBusy, entry.directory == directory { return .busy }
        continue
      }
      if exactly, isSameData, lockFile != entry.files?.lockFile { continue }
      guard !entry.isBusy, let environment = entry.environment else { return .busy }
      return isSameData ? .open(environment) : .replaced
    }
    return .none
  }

  /// Keeps others away from a directory, whose files the caller is about to open. Returns the reservation's number.
  mutating func reserve(_ directory: FileIdentity) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, directory: directory, isBusy: true))
    return lastNumber
  }

  /// Whether an environment has a lock file, apart from a reservation.
  func use(of lockFile: FileIdentity?, besides number: Int) -> LockFileUse {
    guard let lockFile else { return .none }
    let users = entries.filter { $0.number != number && $0.files?.lockFile == lockFile }
    if users.contains(where: { $0.isBusy || $0.environment == nil }) { return .busy }
    return users.isEmpty ? .none : .open
  }

  /// Ends a reservation with an environment, unless another one has its lock file, which is returned.
  mutating func complete(_ number: Int, _ environment: Environment, _ files: EnvironmentFiles) -> LockFileUse {
    let use = use(of: files.lockFile, besides: number)
    guard use == .none, let index = entries.firstIndex(where: { $0.number == number }) else { return use }
    entries[index].environment = environment
    entries[index].control = environment.control
    entries[index].files = files
    entries[index].isBusy = false
    return .none
  }

  mutating func cancel(_ number: Int) { entries.removeAll { $0.number == number } }

  /// Makes everybody wait who asks for the files, while the caller closes them or opens them again.
  mutating func setBusy(_ control: UnsafeMutablePointer<Control>, _ isBusy: Bool) {
    guard let index = index(of: control) else { return }
    entries[index].isBusy = isBusy
  }

  /// The environment has other files now.
  mutating func update(_ control: UnsafeMutablePointer<Control>, _ files: EnvironmentFiles) {
    guard let index = index(of: control) else { return }
    entries[index].files = files
  }

  mutating func remove(_ control: UnsafeMutablePointer<Control>) { entries.removeAll { $0.control == control } }

  func files(of control: UnsafeMutablePointer<Control>) -> EnvironmentFiles? {
    index(of: control).flatMap { entries[$0].files }
  }

  private func index(of control: UnsafeMutablePointer<Control>) -> Int? { entries.firstIndex { $0.control == control } }
}
