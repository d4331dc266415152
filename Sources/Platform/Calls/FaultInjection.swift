import Synchronization

/// Makes the n-th call of a C function return a chosen status. For tests only.
///
/// A rule applies to one directory, one thread or the whole process, so tests can run in parallel. During a session,
/// handles opened in its directory are recorded to detect leaks.
package enum FaultInjection {
  private struct State {
    var sessions: [Int: Session] = [:]
    var lastID = 0
  }

  private static let active = Atomic<Bool>(false)

  // A pthread mutex, which the thread sanitizer understands.
  private static let mutex = PlatformMutex()
  // Guarded by `mutex`.
  private nonisolated(unsafe) static var state = State()

  private static func withState<R>(_ body: (inout State) -> R) -> R {
    mutex.lock()
    defer { mutex.unlock() }
    return body(&state)
  }

  /// Whether any session is on.
  @inlinable @inline(__always)
  package static var isOn: Bool { _slowPath(isActive) }

  @usableFromInline
  static var isActive: Bool { active.load(ordering: .relaxed) }

  /// Begins a session, which lasts until ``end(_:)``. Without rules it only records.
  package static func begin(_ scope: Scope, _ rules: [Rule] = []) -> SessionID {
    withState { state in
      state.lastID += 1
      state.sessions[state.lastID] = Session(scope: scope, thread: PlatformThread.current, rules: rules)
      active.store(true, ordering: .relaxed)
      return SessionID(value: state.lastID)
    }
  }

  @discardableResult
  package static func end(_ id: SessionID) -> Report {
    withState { state in
      let session = state.sessions.removeValue(forKey: id.value)
      active.store(!state.sessions.isEmpty, ordering: .relaxed)
      return Report(session)
    }
  }

  package static func report(_ id: SessionID) -> Report {
    withState { Report($0.sessions[id.value]) }
  }

  package static func with<R, E: Error>(
    _ scope: Scope, _ rules: Rule..., perform body: () throws(E) -> R
  ) throws(E) -> R {
    let session = begin(scope, rules)
    defer { end(session) }
    return try body()
  }

  package struct SessionID: Sendable, Hashable {
    fileprivate let value: Int
  }

  // MARK: - The seam

  /// The status to return instead of making the call, if any.
  ///
  /// - Parameter path: The directory or file that the call is about.
  package static func status(for call: Call, path: String?) -> Int32? {
    let thread = PlatformThread.current
    return withState { state in
      var status: Int32?
      for id in Array(state.sessions.keys) where state.sessions[id]!.applies(thread, path) {
        if let fault = state.sessions[id]!.fault(call) { status = fault }
      }
      return status
    }
  }

  package static func opened(_ handle: OpaquePointer, path: String?) {
    let handle = UInt(bitPattern: handle)
    let thread = PlatformThread.current
    withState { state in
      for id in Array(state.sessions.keys) where state.sessions[id]!.applies(thread, path) {
        state.sessions[id]!.handles.insert(handle)
      }
    }
  }

  package static func ended(_ handle: OpaquePointer) {
    let handle = UInt(bitPattern: handle)
    withState { state in
      for id in Array(state.sessions.keys) { state.sessions[id]!.handles.remove(handle) }
    }
  }
}

extension FaultInjection {
  /// A test's rules and observations.
  struct Session {
    var scope: Scope
    var thread: UInt
    var rules: [Rule]
    var calls: [Call: Int] = [:]
    var triggered = 0
    var handles: Set<UInt> = []

    func applies(_ thread: UInt, _ path: String?) -> Bool {
      switch scope {
      case .everywhere: true
      case .currentThread: self.thread == thread
      case .directory(let directory): path == directory || path?.hasPrefix(directory + "/") == true
      }
    }

    mutating func fault(_ call: Call) -> Int32? {
      let number = calls[call, default: 0] + 1
      calls[call] = number
      for rule in rules where rule.call == call {
        if number >= rule.first && number - rule.first < rule.count {
          triggered += 1
          return rule.status
        }
      }
      return nil
    }
  }
}

extension FaultInjection {
  /// One fault: `count` calls, starting with the `first`-th (1 is the next), return `status`.
  package struct Rule: Sendable {
    package var call: Call
    package var status: Int32
    package var first: Int
    package var count: Int

    package init(_ call: Call, returns status: Int32, first: Int = 1, count: Int = 1) {
      self.call = call
      self.status = status
      self.first = first
      self.count = count
    }
  }
}

extension FaultInjection {
  /// The name of a C function that can be made to fail. Other modules add theirs.
  package struct Call: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let openat = Call(rawValue: "openat")
    package static let mkdirat = Call(rawValue: "mkdirat")
    package static let unlinkat = Call(rawValue: "unlinkat")
    package static let renameat = Call(rawValue: "renameat")
    package static let fstat = Call(rawValue: "fstat")
    package static let fstatat = Call(rawValue: "fstatat")
    package static let pread = Call(rawValue: "pread")
    package static let pwrite = Call(rawValue: "pwrite")
    package static let write = Call(rawValue: "write")
    package static let ftruncate = Call(rawValue: "ftruncate")
    package static let fallocate = Call(rawValue: "fallocate")
    package static let punchHole = Call(rawValue: "fallocate(FALLOC_FL_PUNCH_HOLE)")
    package static let fsync = Call(rawValue: "fsync")
    package static let syncfs = Call(rawValue: "syncfs")
    package static let flock = Call(rawValue: "flock")
    package static let mmap = Call(rawValue: "mmap")
    package static let pthreadCreate = Call(rawValue: "pthread_create")
  }
}

extension FaultInjection {
  /// The calls that a session covers.
  package enum Scope: Sendable, Equatable {
    case everywhere
    /// Calls made by the thread that began the session.
    case currentThread
    /// Calls about this directory and its contents; the path must be canonical.
    case directory(String)
  }
}

extension FaultInjection {
  /// A session's observations.
  package struct Report: Sendable {
    package let triggered: Int
    /// Environments, transactions and cursors that are still open.
    package let openHandles: Int
    package let calls: [Call: Int]

    init(_ session: Session?) {
      triggered = session?.triggered ?? 0
      openHandles = session?.handles.count ?? 0
      calls = session?.calls ?? [:]
    }
  }
}
