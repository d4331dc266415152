// Two threads that count: `race` without a lock, `race locked` with one. Shows that the thread sanitizer, with the
// tests' preloaded library, finds a race, and no false ones in locks and globals.

import Foundation
import Synchronization

final class Counter: @unchecked Sendable {
  // Either thread may be first and initialize it.
  static let isLocked = CommandLine.arguments.dropFirst() == ["locked"]

  let arrivals = Atomic(0)
  let lock = Mutex(())
  var count = 0

  func run() {
    let isLocked = Self.isLocked
    for round in 1...100 {
      // The threads take turns even on one core. Relaxed operations do not order the others.
      arrivals.add(1, ordering: .relaxed)
      while arrivals.load(ordering: .relaxed) < 2 * round { sched_yield() }
      for _ in 0..<1_000 {
        if isLocked { lock.withLock { _ in count += 1 } } else { count += 1 }
      }
    }
  }
}

let counter = Counter()
let group = DispatchGroup()
for _ in 0..<2 {
  group.enter()
  Thread { [counter] in
    counter.run()
    group.leave()
  }.start()
}
group.wait()
if Counter.isLocked { precondition(counter.count == 200_000) }
