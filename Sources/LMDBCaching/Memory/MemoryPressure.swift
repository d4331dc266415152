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
  }

  let state = Mutex(State())

  deinit { MemoryPressureMonitor.shared.remove(self) }

  /// Changes the state, and receives warnings once they have an effect.
  func update(_ change: (inout State) -> Void) {
    // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
    let (old, wantsWarnings) = state.withLock { state in
      let old = state
      change(&state)
      return (old, state.removesAllOnWarning || state.didReceiveWarning != nil)
    }
    withExtendedLifetime(old) {}
    if wantsWarnings { MemoryPressureMonitor.shared.add(self) }
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

/// Warns the process's caches of memory pressure, on a background thread.
///
/// Uses a memory pressure source on Apple platforms. On Linux, a trigger on `/proc/pressure/memory` (pressure stall
/// information, kernel 4.20 and up): tasks waited for memory for 200 ms within 2 s. It starts with the first cache.
private final class MemoryPressureMonitor: Sendable {
  static let shared = MemoryPressureMonitor()

  private struct Receiver {
    weak var pressure: MemoryPressure?
  }

  private struct State {
    var receivers: [ObjectIdentifier: Receiver] = [:]
    var isStarted = false
    // Unsafe in name only: set once, and a source may be used from any thread.
    nonisolated(unsafe) var source: AnyObject?
  }

  private let state = Mutex(State())

  func add(_ pressure: MemoryPressure) {
    state.withLock { state in
      state.receivers[ObjectIdentifier(pressure)] = Receiver(pressure: pressure)
      if state.isStarted { return }
      state.isStarted = true
      start(&state)
    }
  }

  func remove(_ pressure: MemoryPressure) {
    state.withLock { $0.receivers[ObjectIdentifier(pressure)] = nil }
  }

  private func warn() {
    let receivers = state.withLock { $0.receivers.values.compactMap(\.pressure) }
    for pressure in receivers { pressure.warn() }
  }

  private func start(_ state: inout State) {
    #if canImport(Darwin)
      let source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: .global(qos: .utility))
      source.setEventHandler { [self] in warn() }
      source.activate()
      state.source = source as AnyObject
    #elseif os(Linux)
      PressureTrigger(path: "/proc/pressure/memory")?.start { [self] in warn() }
    #endif
  }
}

#if os(Linux)
  /// A trigger on Linux's pressure stall information, and its waiting thread. The last reference closes the file.
  private final class PressureTrigger: Sendable {
    private let descriptor: Int32

    /// Registers "waited for memory for 200 ms of any 2 s", the shortest window open to unprivileged processes. Returns
    /// `nil` if the kernel does not support it.
    init?(path: String) {
      let opened = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      if opened < 0 { return nil }
      let request = "some 200000 2000000"
      let written = unsafe request.withCString { unsafe write(opened, $0, request.utf8.count + 1) }
      if written < 0 {
        close(opened)
        return nil
      }
      descriptor = opened
    }

    deinit { close(descriptor) }

    /// Calls `handler` on a separate thread at every event, until the kernel ends the trigger.
    func start(_ handler: @escaping @Sendable () -> Void) {
      // Without a thread, there are no warnings.
      do throws(SystemError) {
        try PlatformThread.start(name: "lmdb-cache-pressure") { [self] in wait(handler) }
      } catch {}
    }

    private func wait(_ handler: () -> Void) {
      var poller = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
      while true {
        let status = unsafe poll(&poller, 1, -1)
        if status < 0 {
          if errno == EINTR { continue }
          return
        }
        if poller.revents & Int16(POLLERR | POLLNVAL) != 0 { return }
        if poller.revents & Int16(POLLPRI) != 0 { handler() }
      }
    }
  }
#endif
