import Platform

// Loads that bypass stored values, because a remote tier may have newer ones and cannot be reached.

extension LMDBCache {
  /// Returns the result of `load` without storing it. One run per key at a time; the time limit and pauses of
  /// ``value(_:forKey:options:load:)`` apply.
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
      // The joined load had another type, or stores its value; it has finished by now.
      if let fresh = result as? FreshValue<V> { return fresh.value }
    }
  }

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

/// Wraps a value, since optionals lose layers in casts.
private struct FreshValue<V: Sendable>: Sendable {
  let value: V
}

extension LoadContext {
  fileprivate init(unstored key: String, _ options: LoadOptions) {
    self.init(key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
    isStored = false
  }
}
