import Synchronization

/// Makes the n-th call of a C function return a chosen status. For tests only.
///
/// A rule applies to one directory, one thread or the whole process, so tests can run in parallel. During a session,
/// handles opened in its directory are recorded to detect leaks.
package enum FaultInjection {
  /// The name of a C function that can be made to fail. Other modules add theirs.
  package struct Call: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(stringLiteral name: String) { rawValue = name }

    package static let openat: Call = "openat"
    package static let mkdirat: Call = "mkdirat"
    package static let unlinkat: Call = "unlinkat"
    package static let renameat: Call = "renameat"
    package static let fstat: Call = "fstat"
    package static let fstatat: Call = "fstatat"
    package static let pread: Call = "pread"
    package static let pwrite: Call = "pwrite"
    package static let write: Call = "write"
    package static let ftruncate: Call = "ftruncate"
    package static let fallocate: Call = "fallocate"
    package static let punchHole: Call = "fallocate(FALLOC_FL_PUNCH_HOLE)"
    package static let fsync: Call = "fsync"
    package static let syncfs: Call = "syncfs"
    package static let flock: Call = "flock"
    package static let mmap: Call = "mmap"
  }

  /// The calls that a session covers.
  package enum Scope: Sendable, Equatable {
    case everywhere
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

    package init(_ call: Call, returns status: Int32, first: Int = 1, count: Int = 1) {
      self.call = call
      self.status = status
      self.first = first
      self.count = count
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
      case .everywhere: true
      case .currentThread: thread == PlatformThread.current
      case .directory(let directory): path == directory || path?.hasPrefix(directory + "/") == true
      }
    }

    mutating func fault(_ call: Call) -> Int32? {
      let number = report.calls[call, default: 0] + 1
      report.calls[call] = number
      for rule in rules where rule.call == call && number >= rule.first && number - rule.first < rule.count {
        report.triggered += 1
        return rule.status
      }
      return nil
    }
  }

  private static let active = Atomic<Bool>(false)
  private static let sessions = Mutex<(last: SessionID, open: [SessionID: Session])>((0, [:]))

  /// Whether any session is on.
  @inlinable @inline(__always)
  package static var isOn: Bool { _slowPath(isActive) }

  @usableFromInline
  static var isActive: Bool { active.load(ordering: .relaxed) }

  /// Begins a session, which lasts until ``end(_:)``. Without rules it only records.
  package static func begin(_ scope: Scope, _ rules: [Rule] = []) -> SessionID {
    sessions.withLock { sessions in
      sessions.last += 1
      sessions.open[sessions.last] = Session(scope: scope, rules: rules)
      active.store(true, ordering: .relaxed)
      return sessions.last
    }
  }

  @discardableResult
  package static func end(_ id: SessionID) -> Report {
    sessions.withLock { sessions in
      let session = sessions.open.removeValue(forKey: id)
      active.store(!sessions.open.isEmpty, ordering: .relaxed)
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

  // MARK: - The seam

  /// The status to return instead of making the call, if any.
  ///
  /// - Parameter path: The directory or file that the call is about.
  package static func status(for call: Call, path: String?) -> Int32? {
    var status: Int32?
    change { if $0.applies(path), let fault = $0.fault(call) { status = fault } }
    return status
  }

  package static func opened(_ handle: OpaquePointer, path: String?) {
    change { if $0.applies(path) { $0.report.handles.insert(UInt(bitPattern: handle)) } }
  }

  package static func ended(_ handle: OpaquePointer) {
    change { $0.report.handles.remove(UInt(bitPattern: handle)) }
  }

  private static func change(_ body: (inout Session) -> Void) {
    sessions.withLock { sessions in
      for id in Array(sessions.open.keys) { body(&sessions.open[id]!) }
    }
  }
}
