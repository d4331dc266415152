import EFStorageCore
public import Foundation
public import LMDBCaching

/// A nil that was stored is not the same as nothing: a property whose default is another value is nil then.
extension Optional: LMDBCacheStorable where Wrapped: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
    self?.asLMDBCacheStorable() ?? .success(CacheValue.make(StoredNil()))
  }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting { try loadFromLMDBCache(cache, forKey: key) }
  }

  public static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Wrapped?? {
    do {
      return try Wrapped.loadFromLMDBCache(cache, forKey: key).map(Optional.some)
    } catch {
      if try StoredNil.isStored(in: cache, key) { return .some(nil) }
      throw error
    }
  }
}

/// A null in the archive.
private struct StoredNil: Codable {
  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard container.decodeNil() else {
      throw DecodingError.typeMismatch(
        StoredNil.self, .init(codingPath: decoder.codingPath, debugDescription: "Not a null."))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }

  /// Whether what is under `key` is a null. Errors of the storage are thrown.
  static func isStored(in cache: LMDBCache, _ key: String) throws -> Bool {
    do throws(CacheError) {
      return try cache.sharedValue(StoredNil.self, forKey: key) != nil
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { return false }
      throw error
    }
  }
}
