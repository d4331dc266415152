/// Keeps a write beyond the limit of file sizes (`ulimit -f`) from ending the process.
///
/// The system sends SIGXFSZ to the thread that writes, whose default is the process's end; where it is blocked, the
/// write only fails, with `EFBIG`. The signal is then pending on that thread, and is taken away before it is let in
/// again. A process that ignores it or handles it itself notices no difference, but that its handler is not called.
package struct FileSizeSignal {
  /// Whether the thread's mask is as it was.
  private let isUnchanged: Bool

  private static var only: sigset_t {
    var only = sigset_t()
    sigemptyset(&only)
    sigaddset(&only, SIGXFSZ)
    return only
  }

  /// Blocks the signal on the calling thread, until ``restore()`` is called there.
  package static func block() -> FileSizeSignal {
    var only = only
    var before = sigset_t()
    let status = pthread_sigmask(SIG_BLOCK, &only, &before)
    precondition(status == 0, "pthread_sigmask failed")
    return FileSizeSignal(isUnchanged: sigismember(&before, SIGXFSZ) == 1)
  }

  /// The same for a short write, where there is no limit now: then there is no signal either, and nothing is done.
  package static func blockIfLimited() -> FileSizeSignal {
    ResourceLimit.fileSize.isSet ? block() : FileSizeSignal(isUnchanged: true)
  }

  package func restore() {
    if isUnchanged { return }
    var only = Self.only
    var pending = sigset_t()
    if sigpending(&pending) == 0, sigismember(&pending, SIGXFSZ) == 1 {
      #if os(Linux)
        // Without waiting: one that was sent to the process another thread may have taken meanwhile.
        var none = timespec()
        while sigtimedwait(&only, nil, &none) < 0, errno == EINTR {}
      #else
        var signal: Int32 = 0
        _ = sigwait(&only, &signal)
      #endif
    }
    let status = pthread_sigmask(SIG_UNBLOCK, &only, nil)
    precondition(status == 0, "pthread_sigmask failed")
  }

  /// Runs `body` with the signal blocked.
  package static func blocked<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let signal = block()
    defer { signal.restore() }
    return try body()
  }
}
