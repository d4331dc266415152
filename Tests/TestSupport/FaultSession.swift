package import Platform
import Synchronization

/// Makes the n-th call of a C function return a chosen status.
///
/// A rule applies to one directory or one thread, so tests can run in parallel. During a session,
/// handles opened in its directory are recorded to detect leaks.
extension FaultInjection {
  /// The calls that a session covers.
  package enum Scope: Sendable, Equatable {
    /// Calls made by the thread that began the session.
    case currentThread
    /// Calls about this directory and its contents; the path must be canonical.
    case directory(String)
  }

  /// One fault: `count` calls, starting with the `first`-th (1 is the next), return `status`.
  package struct Rule: Sendable {
    let call: Call
    let status: Int32
    let first: Int
    let count: Int
    let condition: (@Sendable (String?) -> Bool)?

    /// - Parameter condition: Receives the path before each failure; returns whether the call fails.
    package init(
      _ call: Call, returns status: Int32, first: Int = 1, count: Int = 1,
      if condition: (@Sendable (String?) -> Bool)? = nil
    ) {
      self.call = call
      self.status = status
      self.first = first
      self.count = count
      self.condition = condition
    }
  }

  /// A session's observations.
  package struct Report: Sendable {
    package fileprivate(set) var triggered = 0
    package fileprivate(set) var calls: [Call: Int] = [:]
    fileprivate var handles: Set<UInt> = []

    /// Environments, transactions and cursors that are still open.
    package var openHandles: Int { handles.count }
  }

  package typealias SessionID = Int

  private struct Session {
    let scope: Scope
    let thread = PlatformThread.current
    let rules: [Rule]
    var report = Report()

    func applies(_ path: String?) -> Bool {
      switch scope {
      case .currentThread: thread == PlatformThread.current
      case .directory(let directory): path == directory || path?.hasPrefix(directory + "/") == true
      }
    }

    mutating func respond(_ event: Event) -> Int32? {
      switch event {
      case .call(let call, let path): return applies(path) ? fault(call, path) : nil
      case .opened(let handle, let path):
        if applies(path) { report.handles.insert(handle) }
      case .ended(let handle): report.handles.remove(handle)
      }
      return nil
    }

    private mutating func fault(_ call: Call, _ path: String?) -> Int32? {
      let number = report.calls[call, default: 0] + 1
      report.calls[call] = number
      for rule in rules where rule.call == call && number >= rule.first && number - rule.first < rule.count {
        if rule.condition?(path) == false { continue }
        report.triggered += 1
        return rule.status
      }
      return nil
    }
  }

  private static let sessions = Mutex<(last: SessionID, open: [SessionID: Session])>((0, [:]))

  /// Begins a session, which lasts until ``end(_:)``. Without rules it only records.
  package static func begin(_ scope: Scope, _ rules: [Rule] = []) -> SessionID {
    sessions.withLock { sessions in
      sessions.last += 1
      sessions.open[sessions.last] = Session(scope: scope, rules: rules)
      handle(respond)
      return sessions.last
    }
  }

  @discardableResult
  package static func end(_ id: SessionID) -> Report {
    sessions.withLock { sessions in
      let session = sessions.open.removeValue(forKey: id)
      if sessions.open.isEmpty { handle(nil) }
      return session?.report ?? Report()
    }
  }

  package static func report(_ id: SessionID) -> Report { sessions.withLock { $0.open[id]?.report ?? Report() } }

  package static func with<R, E: Error>(
    _ scope: Scope, _ rules: Rule..., perform body: () throws(E) -> R
  ) throws(E) -> R {
    let session = begin(scope, rules)
    defer { end(session) }
    return try body()
  }

  private static func respond(_ event: Event) -> Int32? {
    sessions.withLock { sessions in
      var status: Int32?
      for id in Array(sessions.open.keys) {
        if let fault = sessions.open[id]!.respond(event) { status = fault }
      }
      return status
    }
  }
}
