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
  @usableFromInline private(set) var storage: PropertyStorage<Content>
  // Reading the value goes by these, which count no references: to count those of the storage, which every thread that
  // reads the property shares, takes several times as long as all else. `storage` keeps both alive, and the caller of a
  // getter keeps the wrapper.
  @usableFromInline private(set) var unmanaged: Unmanaged<PropertyStorage<Content>>
  @usableFromInline private(set) var reader: EntryReader<Content>?

  private init(_ storage: PropertyStorage<Content>) {
    self.storage = storage
    unmanaged = .passUnretained(storage)
    reader = storage.ref.entry?.reader
  }

  public init(
    __ref: EFStorageLMDBCacheRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    self.init(
      PropertyStorage(
        __ref, makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent, expiresIn: nil))
  }

  /// A property whose content expires.
  ///
  /// - Parameters:
  ///   - makeDefaultContent: The default: an expression that is evaluated each time one is needed.
  ///   - key: The key.
  ///   - cache: The cache; the default cache if none is given.
  ///   - persistDefaultContent: Whether the default is stored, for as long, where nothing is.
  ///   - expiresIn: How long what is set through this property is kept. Other properties with the same key read it, and
  ///     set it with an expiry of their own.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(),
    persistDefaultContent: Bool = false, expiresIn: Duration
  ) {
    self.init(
      PropertyStorage(
        .forKey(key, in: cache), makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
        expiresIn: expiresIn))
    storage.persistDefaultIfAbsent()
  }

  public var _ref: EFStorageLMDBCacheRef<Content> {
    get { storage.ref }
    set {
      self = Self(
        PropertyStorage(
          newValue, makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
          expiresIn: expiresIn))
    }
  }

  /// The reference: `$theme.values`, `$theme.lastFailure`.
  public var projectedValue: EFStorageLMDBCacheRef<Content> { storage.ref }

  public var makeDefaultContent: () -> Content { storage.makeDefaultContent }
  public var persistDefaultContent: Bool { storage.persistDefaultContent }
  /// How long what is set through this property is kept; `nil` until it is removed or the cache makes room.
  public var expiresIn: Duration? { storage.expiresIn }

  public var wrappedValue: Content {
    @inlinable get { Self.read(reader, unmanaged) }
    @inlinable nonmutating set { storage.set(newValue) }
  }

  // Inlinable, since only the caller's module knows the type; what is not here is rare.
  @inlinable @inline(__always)
  static func read(_ reader: EntryReader<Content>?, _ unmanaged: Unmanaged<PropertyStorage<Content>>) -> Content {
    if let reader, case .some(.some(let content)) = reader.currentContent { return content }
    return unmanaged.takeUnretainedValue().contentOrDefault()
  }

  public var content: Content? {
    get { storage.ref.content }
    nonmutating set { storage.set(newValue) }
  }

  /// - Throws: `EFStorageFailure` if something is there that cannot be read, or there is no cache to ask.
  public func loadContent() throws(EFStorageFailure) -> Content? { try storage.ref.loadContent() }

  public func storeContent(_ content: Content?) throws(EFStorageFailure) {
    try storage.ref.store(content, expiresIn: expiresIn)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws(EFStorageFailure) -> Bool {
    try storage.ref.storeIfAbsent(makeContent, expiresIn: expiresIn)
  }

  public func removeContentFromUnderlyingStorage() { content = nil }
}

extension EFStorageLMDBCache where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil and whose content expires.
  public init(forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(), expiresIn: Duration) {
    self.init(wrappedValue: nil, forKey: key, in: cache, expiresIn: expiresIn)
  }
}
