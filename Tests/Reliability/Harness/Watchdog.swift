import Foundation
package import TestSupport

/// Kills a process that takes too long, so that its reader sees the end of the output.
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
      // Under the lock the process has not been reaped, so its identifier is still its own.
      isEnded { ended in
        if ended { return }
        hasBitten { $0 = true }
        _ = kill(identifier, SIGKILL)
      }
    }
  }

  /// Ends the watch and returns whether the process was killed. Call before waiting for the process.
  package func isOver() -> Bool {
    isEnded { $0 = true }
    return hasBitten.current
  }
}
