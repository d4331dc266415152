import Platform
import Synchronization

extension Environment {
  /// Gives back one ``open(directory:options:)``. The last one closes the environment (`mdb_env_close`).
  ///
  /// From then on new operations throw `.closed`. Running ones are waited for, up to ten seconds; if they last longer
  /// (a read or a write transaction of the calling thread, say), the files are closed when they have ended and the
  /// last reference to this object goes.
  ///
  /// Calling it more often than `open` does nothing as long as nobody else has the environment open.
  public func close() {
    let isLast = Registry.withLock { _ in
      let isLast = openers == 1
      openers = max(0, openers - 1)
      if isLast { control.pointee.raise(.closed) }
      return isLast
    }
    guard isLast else { return }

    var backoff = Backoff(limit: Int64(clamping: options.waits.close))
    while !finish(), backoff.pause() {}
  }

  /// Makes every later operation throw `.corrupted`: the file was found damaged, and LMDB must not look at it again.
  /// Running ones go on. It still has to be closed.
  package func breakOff() { control.pointee.raise(.damaged) }

  /// Closes the files if nobody uses them. Returns whether there is nothing left to wait for.
  private func finish() -> Bool {
    guard writerMutex.tryLock() else { return false }
    defer { writerMutex.unlock() }
    guard isQuiet else { return false }
    let mayClose = Registry.withLock { registry -> Bool? in
      // Opened again, or closed by another thread, in the meantime?
      guard openers == 0, !control.pointee.current.contains(.finished) else { return nil }
      // Whoever came in during a moment of being open again.
      guard isQuiet else { return false }
      registry.setBusy(control, true)
      return true
    }
    guard let mayClose else { return true }
    guard mayClose else { return false }
    endHandles()
    Registry.withLock { $0.remove(control) }
    return true
  }

  private var isQuiet: Bool {
    control.pointee.users.load(ordering: .sequentiallyConsistent) == 0 && slots.allFree
  }
}
