import Foundation

extension LMDBCache {
  /// The value under `key`; where there is none, what `load` returns, which is stored.
  ///
  /// Single flight: while one thread loads, others that ask for the key wait and get its value, or its error.
  /// Calling it for the same key from within `load` runs the inner `load` at once.
  ///
  /// - Throws: as ``value(_:forKey:)``, and what `load` throws; nothing is stored then.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, load: () throws -> V
  ) throws -> V {
    while true {
      if let value = try value(type, forKey: key) { return value }
      switch flights.board(ByteKey(key)) {
      case .lead(let flight):
        return try flights.lead(flight, ByteKey(key)) {
          // The one before may have landed between the look and the take-off.
          if let value = try value(type, forKey: key) { return value }
          let value = try load()
          try set(value, forKey: key, expiresIn: expiresIn, cost: cost)
          return value
        }
      case .landed(let result):
        // Somebody loaded a value of another type: look again, which tells the mismatch.
        if let value = try result.get() as? V { return value }
      case .nested:
        let value = try load()
        try set(value, forKey: key, expiresIn: expiresIn, cost: cost)
        return value
      }
    }
  }

  /// The same for tasks: while one loads, others that ask for the key wait without holding a thread.
  ///
  /// `load` runs in a task of its own. A caller that is cancelled stops waiting and throws `CancellationError`;
  /// when nobody waits any more, `load` is cancelled too.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () async throws -> V
  ) async throws -> V {
    while true {
      if let value = try value(type, forKey: key) { return value }
      let result = try await flights.join(ByteKey(key)) { [self] in
        if let value = try value(type, forKey: key) { return value }
        let value = try await load()
        try set(value, forKey: key, expiresIn: expiresIn, cost: cost)
        return value
      }
      if let value = result as? V { return value }
    }
  }
}
