import Dispatch
import Logging
import Platform
import Synchronization

/// Passes log events to the logger in order, on a separate thread.
///
/// A log handler is foreign code that may be slow, or use the cache. So it never runs on the writer thread or on one
/// that holds a lock. If it hangs, up to 10,000 events wait; when it continues, the number of dropped events is logged.
final class EventLog: Sendable {
  /// The threads inside a log handler or other foreign code, of any log.
  private static let handlers = Mutex<Set<UInt>>([])

  private let logger: Logger
  private let queue = DispatchQueue(label: "LMDB events")
  private let waiting = Atomic<Int>(0)
  private static let limit = 10_000
  private let omitted = Atomic<Int>(0)
  /// Continuing failures with their error codes: see ``logFailure(_:_:in:of:)``.
  private let failures = Mutex<[String: CacheError.Code]>([:])

  init(_ logger: Logger) { self.logger = logger }

  func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
    let isLogged = performIfInTime { [self] in
      logger.log(level: level, message, metadata: metadata)
      let count = omitted.exchange(0, ordering: .relaxed)
      if count > 0 { logger.warning("events were not logged in time, and left out", metadata: ["count": "\(count)"]) }
    }
    if !isLogged { omitted.add(1, ordering: .relaxed) }
  }

  /// Runs retried work, and logs its failure once, until it succeeds or fails for another reason. Returns the error.
  @discardableResult
  func logFailure(
    _ level: Logger.Level, _ message: String, in directory: String, of body: () throws(CacheError) -> Void
  ) -> CacheError? {
    do throws(CacheError) {
      try body()
      failures.withLock { $0[message] = nil }
      return nil
    } catch {
      let known = failures.withLock { $0.updateValue(error.code, forKey: message) }
      if known != error.code {
        log(level, "\(message)", ["directory": "\(directory)", "error": "\(error)"])
      }
      return error
    }
  }

  /// Calls foreign code in order with the events, unless too many wait. Returns whether it will be called.
  @discardableResult
  func performIfInTime(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard waiting.load(ordering: .relaxed) < Self.limit else { return false }
    perform(work)
    return true
  }

  func perform(_ work: @escaping @Sendable () -> Void) {
    waiting.add(1, ordering: .relaxed)
    queue.async { [self] in
      waiting.subtract(1, ordering: .relaxed)
      let thread = PlatformThread.current
      Self.handlers.withLock { _ = $0.insert(thread) }
      work()
      Self.handlers.withLock { _ = $0.remove(thread) }
    }
  }

  /// Waits for all events; returns at once in a log handler, which others may be waiting for. Call it without a lock.
  func drain() {
    if Self.handlers.withLock({ $0.contains(PlatformThread.current) }) { return }
    queue.sync {}
  }
}
