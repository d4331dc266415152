extension FaultInjection {
  /// The calls that a session covers.
  package enum Scope: Sendable, Equatable {
    case everywhere
    /// Calls made by the thread that began the session.
    case currentThread
    /// Calls about this directory and its contents; the path must be canonical.
    case directory(String)
  }
}
