import EFStorageCore
public import Foundation
public import LMDBCaching

// Collections of Codable elements are Codable values; others are collections of raw values.

extension Array: LMDBCacheStorable where Element: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> [Element]? { collection(in: cache, key) }
}

extension Set: LMDBCacheStorable where Element: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Set<Element>? {
    collection(in: cache, key)
  }
}

extension Dictionary: LMDBCacheStorable where Key: LMDBCacheStorable & Codable, Value: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> [Key: Value]? {
    collection(in: cache, key)
  }
}

private func collected(_ collection: some LMDBCacheStorable) -> Result<any NSCoding, any Error> {
  if let value = collection as? any Codable { return .success(CacheValue.make(value)) }
  if let rawValues = (collection as? any RawCollection)?.rawCollection as? any LMDBCacheStorable {
    return rawValues.asLMDBCacheStorable()
  }
  return .failure(
    CacheError(.encodingFailed, "The elements of \(type(of: collection)) cannot be stored. Make their type Codable."))
}

extension LMDBCacheStorable {
  fileprivate static func collection(in cache: LMDBCache, _ key: String) -> Self? {
    func value<Value: Codable>(_ type: Value.Type) throws -> Self? { try cache.sharedValue(type, forKey: key) as? Self }
    return LoadingErrors.noting(forKey: key) {
      if let type = self as? any Codable.Type { return try value(type) }
      guard let type = self as? any RawCollection.Type, let rawType = type.rawType as? any LMDBCacheStorable.Type else {
        throw unreadable(key)
      }
      guard let rawValues = try rawType.loadFromLMDBCache(cache, forKey: key) else { return nil }
      guard let value = type.init(anyRawCollection: rawValues) as? Self else { throw unreadable(key) }
      return value
    }
  }
}

private protocol RawCollection {
  associatedtype Raw
  var rawCollection: Raw { get }
  init?(rawCollection: Raw)
}

extension RawCollection {
  fileprivate static var rawType: Any.Type { Raw.self }

  fileprivate init?(anyRawCollection: Any) {
    guard let raw = anyRawCollection as? Raw else { return nil }
    self.init(rawCollection: raw)
  }
}

extension Array: RawCollection where Element: RawRepresentable {
  fileprivate var rawCollection: [Element.RawValue] { map(\.rawValue) }

  fileprivate init?(rawCollection: [Element.RawValue]) {
    self = rawCollection.compactMap(Element.init)
    if count != rawCollection.count { return nil }
  }
}

extension Set: RawCollection where Element: RawRepresentable, Element.RawValue: Hashable {
  fileprivate var rawCollection: Set<Element.RawValue> { Set<Element.RawValue>(lazy.map(\.rawValue)) }

  fileprivate init?(rawCollection: Set<Element.RawValue>) {
    self.init(rawCollection.lazy.compactMap(Element.init))
    if count != rawCollection.count { return nil }
  }
}

extension Dictionary: RawCollection where Value: RawRepresentable {
  fileprivate var rawCollection: [Key: Value.RawValue] { mapValues(\.rawValue) }

  fileprivate init?(rawCollection: [Key: Value.RawValue]) {
    self = rawCollection.compactMapValues(Value.init)
    if count != rawCollection.count { return nil }
  }
}
