import Dispatch
import Logging
import Platform
import Synchronization

/// Hands log events to the logger on a queue of its own, in their order.
///
/// A log handler is somebody else's code: it may be slow, and may use the cache or open another one. So it is never called
/// by a thread that holds a lock, nor by the writer thread.
final class EventLog: Sendable {
  /// The threads that are in a log handler, or another piece of somebody else's code, of any log.
  private static let handlers = Mutex<Set<UInt>>([])

  private let logger: Logger
  private let queue = DispatchQueue(label: "LMDBCaching.events", qos: .utility)

  init(_ logger: Logger) { self.logger = logger }

  func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
    perform { [logger] in logger.log(level: level, message, metadata: metadata) }
  }

  /// Calls somebody else's code, in turn with the events.
  func perform(_ work: @escaping @Sendable () -> Void) {
    queue.async {
      let thread = PlatformThread.current
      Self.handlers.withLock { _ = $0.insert(thread) }
      work()
      Self.handlers.withLock { _ = $0.remove(thread) }
    }
  }

  /// Returns when everything was handed over; at once in a log handler, which others may be waiting for. To be called
  /// without any lock.
  func drain() {
    if Self.handlers.withLock({ $0.contains(PlatformThread.current) }) { return }
    queue.sync {}
  }
}
