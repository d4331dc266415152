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
/// As fresh and thread-safe as its reference: see ``EFStorageLMDBCacheRef``.
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
  ///   - makeDefaultContent: The default: an expression that is evaluated each time it is needed, on any thread.
  ///   - key: The key.
  ///   - cache: The cache; the default cache if omitted.
  ///   - persistDefaultContent: Whether to store the default, with this expiry, if the entry is missing.
  ///   - expiresIn: The expiry of contents set through this property. Other properties with the same key use theirs.
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
  /// It reads through the cache, which takes longer, and costs as much as an observer of changes.
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
  /// How long contents set through this property live; `nil` for no expiry.
  public var expiresIn: Duration? { storage.expiresIn }

  public var wrappedValue: Content {
    // Inlinable, since only the caller's module knows the type; the rest is rare. It uses the storage after the reader,
    // which keeps the reader alive.
    @inlinable @inline(__always) get {
      if case .some(.some(let content)) = storage.reader?.currentContent() { return content }
      return storage.contentOrDefault()
    }
    @inlinable nonmutating set { storage.set(newValue) }
    // `+=` is one change for the threads of this process.
    nonmutating _modify {
      let taken = storage.turn.begin()
      var content = wrappedValue
      defer { storage.turn.end(taken) { storage.set(content) } }
      yield &content
    }
  }

  /// Changes the value, or the default if the entry is missing, as one operation: see
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

  /// - Throws: `EFStorageFailure` if the entry is unreadable, or the cache is missing.
  public func loadContent() throws(EFStorageFailure) -> Content? { try storage.ref.loadContent() }

  public func storeContent(_ content: Content?) throws(EFStorageFailure) {
    try storage.ref.store(content, expiresIn: expiresIn)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws(EFStorageFailure) -> Bool {
    try storage.ref.storeIfAbsent(makeContent, expiresIn: expiresIn)
  }

  public func removeContentFromUnderlyingStorage() { content = nil }
}

// Unchecked because of the default's closure, an expression of the caller's that any thread may evaluate: see
// `makeDefaultContent`. The rest is immutable.
extension EFStorageLMDBCache: @unchecked Sendable where Content: Sendable {}

extension EFStorageLMDBCache where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil and whose content expires.
  public init(forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(), expiresIn: Duration) {
    self.init(wrappedValue: nil, forKey: key, in: cache, expiresIn: expiresIn)
  }
}
