import Platform

/// The environments open in this process, each at most once.
///
/// Closing any descriptor of `lock.mdb` drops all POSIX locks of the process on it, and other processes would consider
/// its readers dead. So the file must never be opened twice, and all openers share one object.
///
/// The lock is never held across waits or opening and closing of files: an entry is marked busy instead, and only
/// openers of the same files wait for it.
struct Registry {
  /// The registry's state for a directory's files.
  enum Match {
    case none
    case open(Environment)
    /// Another thread is opening or closing them, or the object is being destroyed.
    case busy
    /// The lock file is in use with another data file.
    case replaced
  }

  /// Other uses of a lock file in this process.
  enum LockFileUse {
    case none
    /// By an environment that is being closed or opened.
    case busy
    case open
  }

  private struct Entry {
    let number: Int
    let directory: FileIdentity
    var control: UnsafeMutablePointer<Control>?
    /// Also `nil` during the object's `deinit`; the entry stays until the C environment is closed.
    weak var environment: Environment?
    /// `nil` during the first open.
    var files: EnvironmentFiles?
    var isBusy = false
  }

  private var entries: [Entry] = []
  private var lastNumber = 0

  // MARK: -

  private static let mutex = PlatformMutex()

  // Guarded by `mutex`.
  private nonisolated(unsafe) static var shared = Registry()

  /// Runs `body` under the registry's lock. `body` must not release an environment's last reference.
  static func withLock<R>(_ body: (inout Registry) -> R) -> R {
    mutex.lock()
    defer { mutex.unlock() }
    return body(&shared)
  }

  // MARK: -

  /// The open environment for these files.
  ///
  /// - Parameter exactly: Whether to exclude an environment with the same data file but another lock file.
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

  /// Reserves a directory whose files the caller is about to open. Returns the reservation's number.
  mutating func reserve(_ directory: FileIdentity) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, directory: directory, isBusy: true))
    return lastNumber
  }

  /// Whether another environment than the reserved one has a lock file.
  func use(of lockFile: FileIdentity?, besides number: Int) -> LockFileUse {
    guard let lockFile else { return .none }
    let users = entries.filter { $0.number != number && $0.files?.lockFile == lockFile }
    if users.contains(where: { $0.isBusy || $0.environment == nil }) { return .busy }
    return users.isEmpty ? .none : .open
  }

  /// Turns a reservation into an environment, unless another one uses its lock file; returns that use.
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

  /// Makes openers of these files wait while the caller closes or reopens them.
  mutating func setBusy(_ control: UnsafeMutablePointer<Control>, _ isBusy: Bool) {
    guard let index = index(of: control) else { return }
    entries[index].isBusy = isBusy
  }

  /// Records the environment's new files.
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
