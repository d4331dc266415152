package import Foundation

/// Runs `body` on so many threads of their own, and waits for all of them.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count { inBackground(group) { body(index) } }
  group.wait()
}

/// Runs `body` on a thread of its own.
package func inBackground(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
  group.enter()
  let thread = Thread {
    body()
    group.leave()
  }
  thread.stackSize = 4 << 20
  thread.start()
}

/// What `body` returns on a thread with so many bytes of stack.
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

/// Whether `body` ends in time: for what could wait for ever. The thread is left behind if it does not.
package func finishes(within seconds: Int = 60, _ body: @escaping @Sendable () -> Void) -> Bool {
  let group = DispatchGroup()
  inBackground(group, body)
  return group.wait(timeout: .now() + .seconds(seconds)) == .success
}

/// Looks again and again until `condition` holds; false when it does not in time.
package func eventually(within limit: Duration = .seconds(60), _ condition: () throws -> Bool) rethrows -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  while clock.now < deadline {
    if try condition() { return true }
    usleep(500)
  }
  return try condition()
}

/// The same in a task, without holding its thread.
package func becomesTrue(within limit: Duration = .seconds(60), _ condition: () throws -> Bool) async throws -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  while clock.now < deadline {
    if try condition() { return true }
    try await Task.sleep(for: .milliseconds(1))
  }
  return try condition()
}

/// A value behind a lock that the thread sanitizer knows.
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
