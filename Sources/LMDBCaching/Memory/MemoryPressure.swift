import Dispatch
import Platform
import Synchronization

/// The reactions of a cache to memory pressure and to entering the background.
final class MemoryPressure: Sendable {
  typealias Handler = @Sendable () -> Void

  struct State: Sendable {
    var removesAllOnWarning = true
    var removesAllInBackground = true
    var didReceiveWarning: Handler?
    var didEnterBackground: Handler?
    var removeAll: Handler = {}
    var subscription: MemoryPressureMonitor.Subscription?
  }

  let state = Mutex(State())

  /// Changes the state, and subscribes to warnings while they have an effect.
  func update(_ change: (inout State) -> Void) {
    // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
    let old = state.withLock { state in
      let old = state
      change(&state)
      if state.removesAllOnWarning || state.didReceiveWarning != nil {
        if state.subscription == nil {
          state.subscription = MemoryPressureMonitor.shared.subscribe { [weak self] in self?.warn() }
        }
      } else {
        state.subscription = nil
      }
      return old
    }
    withExtendedLifetime(old) {}
  }

  func warn() {
    let state = state.withLock { $0 }
    state.didReceiveWarning?()
    if state.removesAllOnWarning { state.removeAll() }
  }

  func enterBackground() {
    let state = state.withLock { $0 }
    state.didEnterBackground?()
    if state.removesAllInBackground { state.removeAll() }
  }
}

/// Notifies the process's caches of memory pressure.
///
/// Uses a memory pressure source on Apple platforms. On Linux, a trigger on `/proc/pressure/memory` (pressure stall
/// information, kernel 4.20 and up): tasks waited for memory for 200 ms within 2 s. It stays after the first
/// subscription.
package final class MemoryPressureMonitor: Sendable {
  package static let shared = MemoryPressureMonitor()

  package enum Availability: Sendable, Equatable {
    /// Without subscribers so far.
    case notStarted
    case available
    /// The kernel offers this process no pressure information.
    case unavailable
  }

  /// Ends the subscription when released.
  package final class Subscription: Sendable {
    let id: UInt64
    let monitor: MemoryPressureMonitor

    init(id: UInt64, monitor: MemoryPressureMonitor) {
      self.id = id
      self.monitor = monitor
    }

    deinit { monitor.unsubscribe(id) }
  }

  private struct State {
    var handlers: [UInt64: @Sendable () -> Void] = [:]
    var nextID: UInt64 = 0
    var availability = Availability.notStarted
    // Unsafe in name only: set once, and a source may be used from any thread.
    nonisolated(unsafe) var source: AnyObject?
  }

  private let state = Mutex(State())
  private let path: String

  package init(path: String = "/proc/pressure/memory") { self.path = path }

  package var availability: Availability { state.withLock { $0.availability } }

  /// Calls `handler` on a background thread at every warning, as long as the subscription lives.
  package func subscribe(_ handler: @escaping @Sendable () -> Void) -> Subscription {
    let id = state.withLock { state in
      state.nextID += 1
      state.handlers[state.nextID] = handler
      if state.availability == .notStarted { state.availability = start(&state) ? .available : .unavailable }
      return state.nextID
    }
    return Subscription(id: id, monitor: self)
  }

  package func warn() {
    let handlers = state.withLock { Array($0.handlers.values) }
    for handler in handlers { handler() }
  }

  private func unsubscribe(_ id: UInt64) {
    let handler = state.withLock { $0.handlers.removeValue(forKey: id) }
    _ = handler
  }

  private func start(_ state: inout State) -> Bool {
    #if canImport(Darwin)
      let source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: .global(qos: .utility))
      source.setEventHandler { [weak self] in self?.warn() }
      source.activate()
      state.source = source as AnyObject
      return true
    #elseif os(Linux)
      guard let trigger = PressureTrigger(path: path) else { return false }
      return trigger.start { [weak self] in
        self?.warn()
        return self != nil
      }
    #else
      return false
    #endif
  }
}

#if os(Linux)
  /// A trigger on Linux's pressure stall information, and its waiting thread. The last reference closes the file.
  final class PressureTrigger: Sendable {
    private let descriptor: Int32

    /// Registers "waited for memory for 200 ms of any 2 s", the shortest window open to unprivileged processes. Returns
    /// `nil` if the kernel does not support it.
    init?(path: String) {
      let opened = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      if opened < 0 { return nil }
      let request = "some 200000 2000000"
      let written = request.withCString { write(opened, $0, request.utf8.count + 1) }
      if written < 0 {
        close(opened)
        return nil
      }
      descriptor = opened
    }

    deinit { close(descriptor) }

    /// Calls `handler` on a separate thread at every event, until it returns `false` or the kernel ends the trigger.
    func start(_ handler: @escaping @Sendable () -> Bool) -> Bool {
      do throws(SystemError) {
        try PlatformThread.start(name: "lmdb-cache-pressure") { [self] in wait(handler) }
        return true
      } catch {
        return false
      }
    }

    private func wait(_ handler: () -> Bool) {
      var poller = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
      while true {
        let status = poll(&poller, 1, -1)
        if status < 0 {
          if errno == EINTR { continue }
          return
        }
        if poller.revents & Int16(POLLERR | POLLNVAL) != 0 { return }
        if poller.revents & Int16(POLLPRI) != 0, !handler() { return }
      }
    }
  }
#endif
