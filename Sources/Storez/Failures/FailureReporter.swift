import Logging
import Synchronization

/// Tells what fails in one store.
final class FailureReporter: Sendable {
  typealias Handler = @Sendable (StorezFailure) -> Void

  private struct State {
    var handler: Handler?
    /// What was found when the store was made, before anybody could set a handler.
    var early: StorezFailure?
    /// The UTF-8 of the keys of which it was told that their values cannot be read.
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
      // After the lock: it may be the last to hold an owner whose `deinit` comes here.
      withExtendedLifetime(old) {}
      if let early { newValue?(early) }
    }
  }

  /// Logs what was found when the store was made, and keeps it for the first handler.
  func reportEarly(_ failure: StorezFailure) {
    state.withLock { $0.early = failure }
    log(failure)
  }

  private func log(_ failure: StorezFailure) {
    Self.logger.warning("\(failure.message)", metadata: ["key": "\(failure.key)", "failure": "\(failure)"])
  }

  /// - Parameters:
  ///   - isFromReading: Whether it may be read again and again: then it is told once, until it is set.
  ///   - isOutcome: Whether the call that is under way fails by it.
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
