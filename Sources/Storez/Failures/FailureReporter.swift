import Logging
import Synchronization

/// Tells what fails in one store.
final class FailureReporter: Sendable {
  private struct State {
    var handler: (@Sendable (StorezFailure) -> Void)?
    /// The keys of which it was told that their values cannot be read.
    var unreadable: Set<String> = []
  }

  private static let maximumUnreadable = 1_024
  private static let logger = Logger(label: "storez")

  private let state = Mutex(State())

  var handler: (@Sendable (StorezFailure) -> Void)? {
    get { state.withLock { $0.handler } }
    set { state.withLock { $0.handler = newValue } }
  }

  /// - Parameter isFromReading: What is read all the time is told of once, until it is set.
  func report(_ failure: StorezFailure, isFromReading: Bool = false) {
    if let collector = FailureCollector.current {
      collector.note(failure)
      return
    }
    let (isNew, handler) = state.withLock { state in
      guard isFromReading else { return (true, state.handler) }
      if state.unreadable.count >= Self.maximumUnreadable { state.unreadable = [] }
      return (state.unreadable.insert(failure.key).inserted, state.handler)
    }
    if !isNew { return }
    if let handler { return handler(failure) }
    Self.logger.warning("\(failure.message)", metadata: ["key": "\(failure.key)", "failure": "\(failure)"])
  }

  func didWrite(_ key: String) {
    state.withLock { state in
      if !state.unreadable.isEmpty { state.unreadable.remove(key) }
    }
  }
}
