/// Wraps every load of a cache, for tracing for example. See ``CacheConfiguration/loadInstrument``.
///
/// Both functions must call `body` once and pass on its result or error. They run inside the caller's task, or in one
/// that inherits its task-local values.
public protocol LoadInstrument: Sendable {
  /// Wraps a blocking load.
  func load<R>(_ load: LoadDescription, _ body: () throws -> R) rethrows -> R

  /// Wraps an async load.
  nonisolated(nonsending) func load<R>(
    _ load: LoadDescription, _ body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R
}

public struct LoadDescription: Sendable {
  /// The key being loaded.
  public let key: String
  /// The cache's directory.
  public let directory: String
}
