#if canImport(Glibc)
  public import Glibc

  /// Lets a forked child die by SIGALRM if it hangs. Threads of Dispatch, on which tests run, block that signal.
  ///
  /// Swift's runtime makes what it needs at first use, the metadata of a generic type for instance, under locks of its own.
  /// If another thread holds one at the moment of the fork, nobody releases it in the child. So where other threads run, a
  /// test does first in the parent what its child will do.
  public func limitForkedChild() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    alarm(20)
  }

  /// Runs `body` in a forked child, and returns its result, or the negative number of the signal that it died by.
  public func inForkedChild(_ body: () -> Int32) -> Int32 {
    let child = fork()
    if child == 0 {
      limitForkedChild()
      _exit(body())
    }
    precondition(child > 0)
    return result(ofForkedChild: child)
  }

  /// Waits for a forked child; returns as ``inForkedChild(_:)``.
  public func result(ofForkedChild child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }
#endif
