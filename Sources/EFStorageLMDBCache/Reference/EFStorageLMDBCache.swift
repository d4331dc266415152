public import EFStorageCore
public import LMDBCaching

/// A property that is kept in an `LMDBCache`.
///
/// ```swift
/// @EFStorageLMDBCache(forKey: "theme")
/// var theme: String = "light"
///
/// @EFStorageLMDBCache(forKey: "session", in: cache, expiresIn: .seconds(3600))
/// var session: Session?
/// ```
///
/// It is as fresh, and as safe to use from several threads, as its reference: see ``EFStorageLMDBCacheRef``.
@propertyWrapper
public struct EFStorageLMDBCache<Content: LMDBCacheStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageLMDBCacheRef<Content>
  public let makeDefaultContent: () -> Content
  public let persistDefaultContent: Bool
  /// How long what is set through this property is kept; nil: until it is removed or the cache makes room.
  public let expiresIn: Duration?

  public init(
    __ref: EFStorageLMDBCacheRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    self.init(__ref, makeDefaultContent, persistDefaultContent, expiresIn: nil)
  }

  private init(
    _ ref: EFStorageLMDBCacheRef<Content>, _ makeDefaultContent: @escaping () -> Content, _ persistDefaultContent: Bool,
    expiresIn: Duration?
  ) {
    _ref = ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
    self.expiresIn = expiresIn
  }

  /// A property whose content expires.
  ///
  /// - Parameters:
  ///   - makeDefaultContent: The default: an expression that is evaluated each time one is needed.
  ///   - key: The key.
  ///   - storage: The cache; the default cache if none is given.
  ///   - persistDefaultContent: Whether the default is stored, for as long, where nothing is.
  ///   - expiresIn: How long what is set through this property is kept. Other properties with the same key read it, and
  ///     set it with an expiry of their own.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in storage: LMDBCache? = LMDBCache.makeDefault(),
    persistDefaultContent: Bool = false, expiresIn: Duration
  ) {
    self.init(
      EFStorageLMDBCacheRef.forKey(key, in: storage), makeDefaultContent, persistDefaultContent, expiresIn: expiresIn)
    if persistDefaultContent && _ref.isAbsent { content = makeDefaultContent() }
  }

  public var wrappedValue: Content {
    @inlinable get {
      // Inlinable up to here, since only the caller's module knows the type; the rest is rare.
      if let content = _ref.content { return content }
      return contentOrDefault()
    }
    nonmutating set { content = newValue }
  }

  public var content: Content? {
    get { _ref.content }
    nonmutating set {
      // Reported: the setter cannot throw.
      do { try _ref.store(newValue, expiresIn: expiresIn) } catch {}
    }
  }

  public func storeContent(_ content: Content?) throws { try _ref.store(content, expiresIn: expiresIn) }

  public func removeContentFromUnderlyingStorage() { content = nil }
}

extension EFStorageLMDBCache where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil and whose content expires.
  public init(forKey key: String, in storage: LMDBCache? = LMDBCache.makeDefault(), expiresIn: Duration) {
    self.init(wrappedValue: nil, forKey: key, in: storage, expiresIn: expiresIn)
  }
}
