import Dispatch
import Synchronization

/// Tells the process's caches when the system runs short of memory.
///
/// On Apple's platforms by a memory pressure source. On Linux by a trigger on `/proc/pressure/memory` (pressure stall
/// information, kernel 4.20 and up): tasks waited for memory for 200 ms within 2 s. It starts with the first
/// subscriber and then stays.
package final class MemoryPressureMonitor: Sendable {
  package static let shared = MemoryPressureMonitor()

  package enum Availability: Sendable, Equatable {
    /// Nobody has subscribed yet.
    case notStarted
    case available
    /// The kernel offers no pressure information, or not to this process; no warning will come.
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

  /// - Parameter path: where the kernel's pressure information is; for tests.
  package init(path: String = "/proc/pressure/memory") { self.path = path }

  /// Whether warnings can come.
  package var availability: Availability { state.withLock { $0.availability } }

  /// Has `handler` called, on a background thread, at every warning, as long as the subscription lives.
  package func subscribe(_ handler: @escaping @Sendable () -> Void) -> Subscription {
    let id = state.withLock { state in
      state.nextID += 1
      state.handlers[state.nextID] = handler
      if state.availability == .notStarted { state.availability = start(&state) ? .available : .unavailable }
      return state.nextID
    }
    return Subscription(id: id, monitor: self)
  }

  /// Calls every handler, as a warning of the system does.
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
