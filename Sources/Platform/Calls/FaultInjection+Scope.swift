extension FaultInjection {
  /// Which calls a session looks at.
  package enum Scope: Sendable, Equatable {
    case everywhere
    /// Calls made by the thread that began the session.
    case currentThread
    /// Calls about this directory and what is in it; its path must be canonical.
    case directory(String)
  }
}
