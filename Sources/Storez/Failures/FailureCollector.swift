import Synchronization

/// Collects the failures of one call of `throwing(_:)`.
final class FailureCollector: Sendable {
  @TaskLocal static var current: FailureCollector?

  private let first = Mutex<StorezFailure?>(nil)

  func note(_ failure: StorezFailure) { first.withLock { $0 = $0 ?? failure } }

  var failure: StorezFailure? { first.withLock { $0 } }
}
