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
  @usableFromInline let storage: PropertyStorage<Content>

  private init(_ storage: PropertyStorage<Content>) { self.storage = storage }

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

  /// A property that Observation tracks: views and `withObservationTracking(_:onChange:)` are notified when its content
  /// changes, in this process or another one. `ObservedValue` describes when.
  ///
  /// ```swift
  /// @Observable final class Settings {
  ///   @ObservationIgnored
  ///   @EFStorageLMDBCache(forKey: "theme", isObserved: true)
  ///   var theme: String = "light"
  /// }
  /// ```
  ///
  /// It is read through the cache, which takes longer than the read of another property, and costs what an observer of
  /// changes does.
  ///
  /// - Parameters: As for the other properties.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(),
    persistDefaultContent: Bool = false, expiresIn: Duration? = nil, isObserved: Bool
  ) {
    self.init(
      PropertyStorage(
        .forKey(key, in: cache), makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
        expiresIn: expiresIn, isObserved: isObserved))
    storage.persistDefaultIfAbsent()
  }

  public var _ref: EFStorageLMDBCacheRef<Content> {
    get { storage.ref }
    set {
      self = Self(
        PropertyStorage(
          newValue, makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
          expiresIn: expiresIn, isObserved: storage.observed != nil))
    }
  }

  /// The reference: `$theme.values`, `$theme.lastFailure`.
  public var projectedValue: EFStorageLMDBCacheRef<Content> { storage.ref }

  public var makeDefaultContent: () -> Content { storage.makeDefaultContent }
  public var persistDefaultContent: Bool { storage.persistDefaultContent }
  /// How long what is set through this property is kept; `nil` until it is removed or the cache makes room.
  public var expiresIn: Duration? { storage.expiresIn }

  public var wrappedValue: Content {
    // Inlinable, since only the caller's module knows the type; what is not here is rare. It needs the storage after the
    // reader was asked, which keeps the reader.
    @inlinable @inline(__always) get {
      if case .some(.some(let content)) = storage.reader?.currentContent() { return content }
      return storage.contentOrDefault()
    }
    @inlinable nonmutating set { storage.set(newValue) }
    // `+=` is one change for the threads of this process.
    nonmutating _modify {
      let isTaken = storage.turn.begin()
      var content = wrappedValue
      defer { storage.turn.end(isTaken) { storage.set(content) } }
      yield &content
    }
  }

  /// Changes the value, which is the default where nothing is stored, as one operation: see
  /// ``EFStorageLMDBCacheRef/update(_:)``.
  ///
  /// - Returns: The new value.
  @discardableResult
  public func update(_ change: (inout Content) throws -> Void) throws -> Content {
    try storage.ref.update(expires: expiresIn.map { .after($0) } ?? .never) { content in
      var value = content ?? makeDefaultContent()
      try change(&value)
      content = value
    } ?? makeDefaultContent()
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

// Unchecked because of the default's closure. A property has one of its initial value, which captures nothing; the rest does
// not change.
extension EFStorageLMDBCache: @unchecked Sendable where Content: Sendable {}

extension EFStorageLMDBCache where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil and whose content expires.
  public init(forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(), expiresIn: Duration) {
    self.init(wrappedValue: nil, forKey: key, in: cache, expiresIn: expiresIn)
  }
}
