import Platform

// Loads of what is stored and must not be served: a remote tier may have something newer, and cannot be asked.

extension LMDBCache {
  /// What `load` returns, which is not stored. One run of a key at a time, as in ``value(_:forKey:options:load:)``, whose
  /// time limit and pauses hold as well.
  package func freshValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String, options: LoadOptions?,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    let options = options ?? diskCache.configuration.loadOptions
    try options.validate()
    let patience = patience(options.timeLimit)
    while true {
      let result = try store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        var context = LoadContext(unstored: key, options)
        return FreshValue(value: try settling(key, options) { try timing(key) { try load(&context) } })
      }
      // What was joined may be a load of another type, or one whose value is stored: its turn is over now.
      if let fresh = result as? FreshValue<V> { return fresh.value }
    }
  }

  /// The same for tasks.
  package func freshValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String, options: LoadOptions?,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    let options = options ?? diskCache.configuration.loadOptions
    try options.validate()
    let patience = patience(options.timeLimit)
    while true {
      let result = try await store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        var context = LoadContext(unstored: key, options)
        return FreshValue(
          value: try await settling(key, options) { try await timing(key) { try await load(&context) } })
      }
      if let fresh = result as? FreshValue<V> { return fresh.value }
    }
  }
}

/// A value that is not optional, whatever its type is: optionals lose their layers in casts.
private struct FreshValue<V: Sendable>: Sendable {
  let value: V
}

extension LoadContext {
  fileprivate init(unstored key: String, _ options: LoadOptions) {
    self.init(key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
    isStored = false
  }
}
