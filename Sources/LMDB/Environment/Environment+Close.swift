import Platform
import Synchronization

extension Environment {
  /// Balances one ``open(directory:options:)``. The last call closes the environment (`mdb_env_close`).
  ///
  /// New operations then throw `.closed`. Waits up to ten seconds for running ones; if they last longer (for example, a
  /// transaction of the calling thread), the files are closed once they end and the last reference to this object is
  /// released.
  ///
  /// Extra calls do nothing while no other opener has the environment open.
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

  /// Makes every later operation throw `.corrupted`, because the file was found damaged. Running operations continue.
  /// The environment must still be closed.
  package func breakOff() { control.pointee.raise(.damaged) }

  /// Closes the files if they are unused. Returns whether there is nothing left to wait for.
  private func finish() -> Bool {
    guard writerMutex.tryLock() else { return false }
    defer { writerMutex.unlock() }
    guard isQuiet else { return false }
    let mayClose = Registry.withLock { registry -> Bool? in
      // Another thread may have reopened or closed it.
      guard openers == 0, !control.pointee.current.contains(.finished) else { return nil }
      // An operation may have begun while it was briefly reopened.
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
