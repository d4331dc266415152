import Logging
import Platform
import Synchronization

/// Hands log events to the logger on a thread of its own, in their order.
///
/// A log handler is somebody else's code: it may be slow, and may use the cache or open another one. So it is never called
/// by a thread that holds a lock, nor by the writer thread. Behind one that hangs 10,000 events wait; how many log events
/// were left out is logged when it goes on.
final class EventLog: Sendable {
  /// The threads that are in a log handler, or another piece of somebody else's code, of any log.
  private static let handlers = Mutex<Set<UInt>>([])

  private let logger: Logger
  private let thread = ThreadPool(name: "LMDB events", idleTime: 1_000_000_000)
  private static let limit = 10_000
  /// Events that were left out.
  private let omitted = Atomic<Int>(0)
  /// The failures that go on, with the codes of their errors: see ``logFailure(_:_:in:of:)``.
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

  /// Runs what is tried again and again, and logs its failure once, until it succeeds or fails for another reason.
  ///
  /// - Returns: The error.
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

  /// Calls somebody else's code, in turn with the events, unless so many wait that this one is left out.
  ///
  /// - Returns: Whether it will be called.
  @discardableResult
  func performIfInTime(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard thread.waitingCount < Self.limit else { return false }
    perform(work)
    return true
  }

  /// Calls somebody else's code, in turn with the events, however many wait.
  func perform(_ work: @escaping @Sendable () -> Void) {
    thread.run {
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
    thread.drain()
  }
}
