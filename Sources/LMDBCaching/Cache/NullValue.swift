/// A stored null: the `nil` of an optional property, as opposed to a missing entry, which has a default.
package struct NullValue: Codable {
  package init() {}

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard container.decodeNil() else {
      throw DecodingError.typeMismatch(
        NullValue.self, .init(codingPath: decoder.codingPath, debugDescription: "Not a null."))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }
}

extension LMDBCache {
  /// Returns the result of `read`, `.some(nil)` for a null under `key`, or `nil` for a missing entry. `read` must throw
  /// for a null.
  package func nullable<Value>(
    forKey key: String, _ read: () throws(CacheError) -> Value?
  ) throws(CacheError) -> Value?? {
    var seen: EntryVersion??
    while true {
      do {
        return try read().map(Optional.some)
      } catch {
        if try holdsNull(key) { return .some(nil) }
        // A null may appear or disappear between the two look-ups, but the second time nothing has changed.
        let version = try entry(forKey: key)?.version
        if seen == .some(version) { throw error }
        seen = .some(version)
      }
    }
  }

  private func holdsNull(_ key: String) throws(CacheError) -> Bool {
    do {
      return try sharedValue(NullValue.self, forKey: key) != nil
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { return false }
      throw error
    }
  }
}
