// Two threads that count: `race` without a lock, `race locked` with one. Shows that the thread sanitizer, with the
// tests' preloaded library, finds a race, and no false ones in locks and globals.

import Foundation
import Synchronization

enum Counter {
  nonisolated(unsafe) static var count = 0
  // Either thread may be first and initialize it.
  static let isLocked = CommandLine.arguments.dropFirst() == ["locked"]
  static let lock = Mutex(())

  static func run() {
    for _ in 0..<100_000 {
      if isLocked { lock.withLock { _ in count += 1 } } else { count += 1 }
    }
  }
}

let group = DispatchGroup()
for _ in 0..<2 {
  group.enter()
  Thread {
    Counter.run()
    group.leave()
  }.start()
}
group.wait()
if Counter.isLocked { precondition(Counter.count == 200_000) }
