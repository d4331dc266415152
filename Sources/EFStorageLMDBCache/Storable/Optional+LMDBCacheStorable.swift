import EFStorageCore
public import Foundation
public import LMDBCaching

/// A stored `nil` is not a missing entry: it overrides a default. A `nil` inside a nested optional cannot be stored.
extension Optional: LMDBCacheStorable where Wrapped: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
    guard let self else { return .success(CacheValue.make(NullValue())) }
    // Reading could not distinguish it from the outer nil.
    if (self as? any StorableOptional)?.isNil == true {
      return .failure(
        CacheError(
          .encodingFailed, "The inner nil of a \(Self.self) cannot be told from the outer one. Store another type."))
    }
    return self.asLMDBCacheStorable()
  }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try loadFromLMDBCache(cache, forKey: key) }
  }

  public static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Wrapped?? {
    let found = try cache.nullable(forKey: key) { () throws(CacheError) in
      do {
        return try Wrapped.loadFromLMDBCache(cache, forKey: key)
      } catch let error as CacheError {
        throw error
      } catch {
        throw Wrapped.unreadable(key, underlying: error)
      }
    }
    // A null is the outer nil, to any depth.
    if let found, let wrapped = found, (wrapped as? any StorableOptional)?.isNil == true { return .some(nil) }
    return found
  }
}

private protocol StorableOptional {
  var isNil: Bool { get }
}

extension Optional: StorableOptional {
  fileprivate var isNil: Bool { self == nil }
}
