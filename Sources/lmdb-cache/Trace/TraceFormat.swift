import ArgumentParser

enum TraceFormat: String, ExpressibleByArgument, CaseIterable {
  /// A four-byte big-endian key per request, as in the cache2k project's traces.
  case u32be
  /// A line with the key per request.
  case text
}
