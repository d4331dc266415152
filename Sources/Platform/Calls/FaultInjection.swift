import Synchronization

/// The seam at which tests observe calls of C functions and make them fail. Costs one relaxed load without a handler.
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

  package enum Event {
    /// A call about this directory or file is about to be made.
    case call(Call, path: String?)
    /// A handle at this address.
    case opened(UInt, path: String?)
    case ended(UInt)
  }

  private static let active = Atomic<Bool>(false)
  private static let handler = Mutex<Handler?>(nil)

  /// A function alone in a mutex gets another thunk with each access.
  private struct Handler: Sendable { let body: @Sendable (Event) -> Int32? }

  /// Whether there is a handler.
  @inlinable @inline(__always)
  package static var isOn: Bool { _slowPath(isActive) }

  @usableFromInline
  static var isActive: Bool { active.load(ordering: .relaxed) }

  /// - Parameter body: Returns the status that takes the place of a call; `nil` to make the call.
  package static func handle(_ body: (@Sendable (Event) -> Int32?)?) {
    handler.withLock { $0 = body.map(Handler.init) }
    active.store(body != nil, ordering: .relaxed)
  }

  /// The status to return instead of making the call, if any.
  package static func status(for call: Call, path: String?) -> Int32? { tell(.call(call, path: path)) }

  package static func opened(_ handle: UInt, path: String?) { _ = tell(.opened(handle, path: path)) }

  package static func ended(_ handle: UInt) { _ = tell(.ended(handle)) }

  private static func tell(_ event: Event) -> Int32? { handler.withLock { $0 }?.body(event) }
}
