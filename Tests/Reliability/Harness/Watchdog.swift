import Foundation
package import TestSupport

/// Kills a process that takes too long, so that who reads from it gets its end.
package final class Watchdog: Sendable {
  private let isEnded = Guarded(false)
  private let hasBitten = Guarded(false)

  package init(_ process: ChildProcess, seconds: Int) {
    let identifier = process.identifier
    inBackground(DispatchGroup()) { [isEnded, hasBitten] in
      for _ in 0..<seconds * 100 {
        if isEnded.current { return }
        usleep(10_000)
      }
      // The lock is held: the process has not been waited for, and its number is its own.
      isEnded { ended in
        if ended { return }
        hasBitten { $0 = true }
        _ = kill(identifier, SIGKILL)
      }
    }
  }

  /// Ends the watch; whether the process had to be killed. Before the process is waited for.
  package func isOver() -> Bool {
    isEnded { $0 = true }
    return hasBitten.current
  }
}
