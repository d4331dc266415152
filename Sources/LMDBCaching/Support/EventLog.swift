import Dispatch
import Logging

/// Hands log events to the logger on a queue of its own, in their order.
///
/// A log handler is somebody else's code: it may be slow, and may use the cache or open another one. So it is never called
/// by a thread that holds a lock, nor by the writer thread.
final class EventLog: Sendable {
  private static let key = DispatchSpecificKey<Bool>()

  private let logger: Logger
  private let queue: DispatchQueue

  init(_ logger: Logger) {
    self.logger = logger
    queue = DispatchQueue(label: "LMDBCaching.events", qos: .utility)
    queue.setSpecific(key: Self.key, value: true)
  }

  func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
    perform { [logger] in logger.log(level: level, message, metadata: metadata) }
  }

  /// Calls somebody else's code, in turn with the events.
  func perform(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  /// Returns when everything was handed over; at once in a log handler itself. To be called without any lock.
  func drain() {
    if DispatchQueue.getSpecific(key: Self.key) == true { return }
    queue.sync {}
  }
}
