extension FaultInjection {
  /// A session's observations.
  package struct Report: Sendable {
    package let triggered: Int
    /// Environments, transactions and cursors that are still open.
    package let openHandles: Int
    package let calls: [Call: Int]

    init(_ session: Session?) {
      triggered = session?.triggered ?? 0
      openHandles = session?.handles.count ?? 0
      calls = session?.calls ?? [:]
    }
  }
}
