public import Foundation

/// A Swift value as an NSCoding object. ``LMDBCache/setObject(_:forKey:expiresIn:cost:)`` stores it like
/// ``LMDBCache/set(_:forKey:expiresIn:cost:)``; read it with ``LMDBCache/value(_:forKey:)``.
///
/// It may be shared between threads if its value is immutable and may be.
public class CacheValue: NSObject, NSCoding {
  /// Wraps a value, which is archived when it is stored.
  @inlinable
  public static func make(_ value: some Codable) -> CacheValue { TypedCacheValue(value) }

  @usableFromInline
  override init() {}

  /// Always returns `nil`: no coder writes it.
  public required convenience init?(coder: NSCoder) { return nil }

  /// Fails: only a cache can archive it.
  public func encode(with coder: NSCoder) {
    coder.failWithError(
      CacheError(.encodingFailed, "A CacheValue is stored by itself; archive the value that it was made of."))
  }

  package final func set(
    in cache: LMDBCache, forKey key: String, expiresIn: Duration?, cost: Int?
  ) throws(CacheError) {
    try set(in: cache.diskCache, forKey: key, expiresIn: expiresIn, cost: cost, through: cache.memoryCache)
  }

  func set(
    in cache: DiskCache, forKey key: String, expiresIn: Duration?, cost: Int?, tags: EntryTags? = nil,
    through memory: MemoryTier?
  ) throws(CacheError) {
    preconditionFailure("abstract")
  }

  /// Returns whether the condition held.
  func put(
    in cache: DiskCache, forKey key: String, expires: Int64, tags: EntryTags?, through memory: MemoryTier?,
    if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    preconditionFailure("abstract")
  }

  func setIfAbsent(
    in cache: DiskCache, forKey key: String, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    preconditionFailure("abstract")
  }
}

@usableFromInline
final class TypedCacheValue<Value: Codable>: CacheValue {
  private let value: Value

  @usableFromInline
  init(_ value: Value) {
    self.value = value
    super.init()
  }

  required convenience init?(coder: NSCoder) { return nil }

  override func set(
    in cache: DiskCache, forKey key: String, expiresIn: Duration?, cost: Int?, tags: EntryTags?,
    through memory: MemoryTier?
  ) throws(CacheError) {
    try cache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, tags: tags, through: memory)
  }

  override func put(
    in cache: DiskCache, forKey key: String, expires: Int64, tags: EntryTags?, through memory: MemoryTier?,
    if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    try cache.withNewEntry(value, key, cost: nil, through: memory) { (new) throws(CacheError) in
      try cache.put(new, expires: expires, tags: tags, through: memory, if: condition)
    }
  }

  override func setIfAbsent(
    in cache: DiskCache, forKey key: String, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try cache.setValueIfAbsent(
      value, forKey: key, expires: expiresIn.map { .after($0) } ?? .never, cost: cost, tags: nil, through: memory)
  }
}
