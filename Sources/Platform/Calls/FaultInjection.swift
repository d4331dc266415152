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
