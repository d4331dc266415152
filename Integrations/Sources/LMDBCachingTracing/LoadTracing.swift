public import LMDBCaching
public import Tracing

/// A span around every load of a cache, named `cache.load`. What a loader throws is recorded in it.
///
/// ```swift
/// configuration.loadInstrument = LoadTracing()
/// ```
///
/// The span's parent is the one of the caller that runs the load; callers that wait for it, and hits, have none. Spans that
/// the loader makes are inside of it. Attributes: `cache.key`, `cache.directory`.
public struct LoadTracing: LoadInstrument {
  private let tracer: (any Tracer)?
  private let recordsKeys: Bool

  /// - Parameters:
  ///   - tracer: `nil` for the one that the instrumentation system has at the time of a load.
  ///   - recordsKeys: Whether keys are recorded. Not if they are secret, as tokens are.
  public init(tracer: (any Tracer)? = nil, recordsKeys: Bool = true) {
    self.tracer = tracer
    self.recordsKeys = recordsKeys
  }

  public func load<R>(_ load: LoadDescription, _ body: () throws -> R) rethrows -> R {
    try current.withAnySpan("cache.load") { span in
      describe(load, in: span)
      return try body()
    }
  }

  public nonisolated(nonsending) func load<R>(
    _ load: LoadDescription, _ body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R {
    try await current.withAnySpan("cache.load") { span in
      describe(load, in: span)
      return try await body()
    }
  }

  private var current: any Tracer { tracer ?? InstrumentationSystem.tracer }

  private func describe(_ load: LoadDescription, in span: any Span) {
    if recordsKeys { span.attributes["cache.key"] = load.key }
    span.attributes["cache.directory"] = load.directory
  }
}
