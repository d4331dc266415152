import Logging
import Synchronization

final class FailureReporter: Sendable {
  typealias Handler = @Sendable (StorezFailure) -> Void

  private struct State {
    var handler: Handler?
    /// A failure found when the store was made, before a handler was set.
    var early: StorezFailure?
    /// The UTF-8 of keys whose unreadable values were reported.
    var unreadable: Set<[UInt8]> = []
  }

  private static let maximumUnreadable = 1_024
  private static let logger = Logger(label: "storez")

  private let state = Mutex(State())

  var handler: Handler? {
    get { state.withLock { $0.handler } }
    set {
      let (old, early) = state.withLock { state -> (Handler?, StorezFailure?) in
        let old = state.handler
        state.handler = newValue
        guard newValue != nil else { return (old, nil) }
        defer { state.early = nil }
        return (old, state.early)
      }
      // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
      withExtendedLifetime(old) {}
      if let early { newValue?(early) }
    }
  }

  /// Logs a failure found when the store was made, and keeps it for the first handler.
  func reportEarly(_ failure: StorezFailure) {
    state.withLock { $0.early = failure }
    log(failure)
  }

  private func log(_ failure: StorezFailure) {
    Self.logger.warning("\(failure.message)", metadata: ["key": "\(failure.key)", "failure": "\(failure)"])
  }

  /// - Parameters:
  ///   - isFromReading: Whether reading may repeat it: then it is reported once, until the key is set.
  ///   - isOutcome: Whether it makes the running call fail.
  func report(_ failure: StorezFailure, isFromReading: Bool = false, isOutcome: Bool = true) {
    if isOutcome, let collector = FailureCollector.current {
      collector.note(failure)
      return
    }
    let (isNew, handler) = state.withLock { state in
      guard isFromReading else { return (true, state.handler) }
      if state.unreadable.count >= Self.maximumUnreadable { state.unreadable = [] }
      return (state.unreadable.insert(Array(failure.key.utf8)).inserted, state.handler)
    }
    if !isNew { return }
    if let handler { return handler(failure) }
    log(failure)
  }

  func didWrite(_ key: String) {
    state.withLock { state in
      if !state.unreadable.isEmpty { state.unreadable.remove(Array(key.utf8)) }
    }
  }
}
