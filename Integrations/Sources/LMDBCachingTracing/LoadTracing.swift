public import LMDBCaching
public import Tracing

/// Records a span named `cache.load` around every load of a cache, with the loader's error if it throws.
///
/// ```swift
/// configuration.loadInstrument = LoadTracing()
/// ```
///
/// The span's parent is that of the caller that runs the load. Hits and callers that wait for a load record no span.
/// Spans of the loader are nested in it. Attributes: `cache.key`, `cache.directory`.
public struct LoadTracing: LoadInstrument {
  private let tracer: (any Tracer)?
  private let recordsKeys: Bool

  /// - Parameters:
  ///   - tracer: `nil` for the instrumentation system's tracer at the time of a load.
  ///   - recordsKeys: Whether to record keys. Pass `false` for secret keys, such as tokens.
  public init(tracer: (any Tracer)? = nil, recordsKeys: Bool = true) {
    self.tracer = tracer
    self.recordsKeys = recordsKeys
  }

  public nonisolated(nonsending) func load<R>(
    key: String, directory: String, _ body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R {
    try await (tracer ?? InstrumentationSystem.tracer).withAnySpan("cache.load") { span in
      if recordsKeys { span.attributes["cache.key"] = key }
      span.attributes["cache.directory"] = directory
      return try await body()
    }
  }
}
