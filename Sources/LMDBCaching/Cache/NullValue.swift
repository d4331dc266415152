/// A null in the archive: the `nil` of an optional property. It is not the same as no entry, which has a default.
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
  /// Returns what `read` does, or `.some(nil)` if a null is under `key`, or `nil` if nothing is.
  ///
  /// - Parameter read: Reads what is under `key`, and throws if that is a null.
  package func nullable<Value>(
    forKey key: String, _ read: () throws(CacheError) -> Value?
  ) throws(CacheError) -> Value?? {
    var seen: EntryVersion??
    while true {
      do {
        return try read().map(Optional.some)
      } catch {
        if try holdsNull(key) { return .some(nil) }
        // A null may have come or gone between the two looks. The second time, nothing has changed since the first.
        let version = try entry(forKey: key)?.version
        if seen == .some(version) { throw error }
        seen = .some(version)
      }
    }
  }

  /// Whether a null is under `key`.
  private func holdsNull(_ key: String) throws(CacheError) -> Bool {
    do {
      return try sharedValue(NullValue.self, forKey: key) != nil
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { return false }
      throw error
    }
  }
}
