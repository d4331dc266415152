extension FaultInjection {
  /// Which calls a session looks at.
  package enum Scope: Sendable, Equatable {
    case everywhere
    /// Calls made by the thread that began the session.
    case currentThread
    /// Calls for the environment in this directory, whose path must be canonical.
    case directory(String)
  }
}
