import InMemoryTracing
import LMDBCaching
import LMDBCachingTracing
import Testing
import Tracing

@Suite struct TracingTests {
  let scratch = Scratch()
  let tracer = InMemoryTracer()

  private struct Failure: Error {}

  @Test func everyLoadHasASpan() async throws {
    let cache = try scratch.cache { $0.loadInstrument = LoadTracing(tracer: tracer) }
    let task = tracer
    let value = try await task.withAnySpan("request") { _ in
      try await cache.value(Int.self, forKey: "key") { _ in task.withAnySpan("query") { _ in 7 } }
    }
    #expect(value == 7)
    let spans = Dictionary(uniqueKeysWithValues: tracer.finishedSpans.map { ($0.operationName, $0) })
    let load = try #require(spans["cache.load"])
    #expect(load.attributes.get("cache.key") == .string("key"))
    #expect(load.parentSpanID == spans["request"]?.spanID)
    #expect(spans["query"]?.parentSpanID == load.spanID)
    // A hit has no span.
    tracer.clearFinishedSpans()
    #expect(try await cache.value(Int.self, forKey: "key") { _ in 8 } == 7)
    #expect(tracer.finishedSpans.isEmpty)
    try await cache.close()
  }

  @Test func failuresAreRecorded() throws {
    let cache = try scratch.cache { $0.loadInstrument = LoadTracing(tracer: tracer, recordsKeys: false) }
    #expect(throws: Failure.self) { try cache.value(Int.self, forKey: "secret") { _ in throw Failure() } }
    let span = try #require(tracer.finishedSpans.first)
    #expect(span.errors.first?.error is Failure)
    #expect(span.attributes.get("cache.key") == nil)
    try cache.close()
  }
}
