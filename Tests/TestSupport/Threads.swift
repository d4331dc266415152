package import Foundation

/// Runs `body` on `count` new threads, and waits for all.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count { inBackground(group) { body(index) } }
  group.wait()
}

package func inBackground(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
  group.enter()
  let thread = Thread {
    body()
    group.leave()
  }
  thread.stackSize = 4 << 20
  thread.start()
}

/// Runs `body` on a new thread with `stack` bytes of stack.
package func onThread<R: Sendable>(stack: Int, _ body: @escaping @Sendable () -> R) -> R {
  let result = Guarded<R?>(nil)
  let group = DispatchGroup()
  group.enter()
  let thread = Thread {
    let value = body()
    result { $0 = value }
    group.leave()
  }
  thread.stackSize = stack
  thread.start()
  group.wait()
  return result.current!
}

/// Whether `body` ends in time. Otherwise its thread is left behind.
package func finishes(within seconds: Int = 60, _ body: @escaping @Sendable () -> Void) -> Bool {
  let group = DispatchGroup()
  inBackground(group, body)
  return group.wait(timeout: .now() + .seconds(seconds)) == .success
}

/// Runs `body`. In an asynchronous function, the compiler then chooses the synchronous form of a call.
package func blocking<V>(_ body: () throws -> V) rethrows -> V { try body() }

/// Polls until `condition` holds; false on a timeout.
package func eventually(within limit: Duration = .seconds(60), _ condition: () throws -> Bool) rethrows -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  while clock.now < deadline {
    if try condition() { return true }
    usleep(500)
  }
  return try condition()
}

/// Like `eventually`, without blocking the task's thread.
package func becomesTrue(within limit: Duration = .seconds(60), _ condition: () throws -> Bool) async throws -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  while clock.now < deadline {
    if try condition() { return true }
    try await Task.sleep(for: .milliseconds(1))
  }
  return try condition()
}

/// A value behind a lock that the thread sanitizer understands.
package final class Guarded<Value>: @unchecked Sendable {  // Sendable: `value` is touched with `lock` held only.
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  @discardableResult
  package func callAsFunction<R>(_ body: (inout Value) -> R) -> R {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }

  package var current: Value { self { $0 } }
}
