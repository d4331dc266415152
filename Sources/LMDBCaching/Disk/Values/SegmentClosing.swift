import Platform

/// Closes the files of segments that were removed, on a thread of its own. The system frees a file's blocks when it is
/// closed for the last time, and whoever closes it waits: 0.7 s were measured where the device is told (`discard`).
enum SegmentClosing {
  private static let thread = ThreadPool(name: "LMDB closing", idleTime: 1_000_000_000)

  /// Lets go of what holds a file open. Nobody else may have it.
  static func release<Holder: AnyObject & Sendable>(_ holder: consuming Holder) {
    let kept = Unmanaged.passRetained(holder)
    _ = consume holder
    // Without a thread the caller takes the time.
    if !thread.run(isKept: false, { kept.release() }) { kept.release() }
  }

  /// The same of a segment that is locked.
  static func release(_ lock: consuming FileLock) { release(Locked(lock)) }

  private final class Locked: Sendable {
    private let lock: FileLock

    init(_ lock: consuming FileLock) { self.lock = lock }
  }

  /// Returns when everything that was let go of is closed.
  static func drain() { thread.drain() }
}
