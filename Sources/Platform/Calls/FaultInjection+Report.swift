extension FaultInjection {
  /// What a session has seen.
  package struct Report: Sendable {
    /// How many calls were made to fail.
    package let triggered: Int
    /// Environments, transactions and cursors that were opened and not ended yet.
    package let openHandles: Int
    /// How often each function was called.
    package let calls: [Call: Int]

    init(_ session: Session?) {
      triggered = session?.triggered ?? 0
      openHandles = session?.handles.count ?? 0
      calls = session?.calls ?? [:]
    }
  }
}
