import ArgumentParser

/// How the requests of a trace are written down.
enum TraceFormat: String, ExpressibleByArgument, CaseIterable {
  /// Each request is one key: four bytes, the most significant first. That of the cache2k project's traces.
  case u32be
  /// Each line is the key of one request.
  case text
}
