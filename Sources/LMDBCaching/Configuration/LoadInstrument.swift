/// What runs around every load of a cache: tracing, say. See ``CacheConfiguration/loadInstrument``.
///
/// Both functions call `body` once and pass on what it returns or throws. They run where the load does, inside the caller's
/// task or in one that inherits its task-local values.
public protocol LoadInstrument: Sendable {
  /// Around a load of a thread.
  func load<R>(_ load: LoadDescription, _ body: () throws -> R) rethrows -> R

  /// Around a load of a task.
  nonisolated(nonsending) func load<R>(
    _ load: LoadDescription, _ body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R
}

/// Which load it is.
public struct LoadDescription: Sendable {
  /// What is loaded.
  public let key: String
  /// The cache's directory.
  public let directory: String
}
