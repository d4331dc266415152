public import EFStorageCore
public import LMDBCaching

/// A property that is kept in an `LMDBCache`.
///
/// ```swift
/// @EFStorageLMDBCache(forKey: "theme")
/// var theme: String = "light"
///
/// @EFStorageLMDBCache(forKey: "session", in: cache, expires: .after(.seconds(3600)))
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
        __ref, makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent, expires: .never))
  }

  /// A property whose content expires.
  ///
  /// - Parameters:
  ///   - makeDefaultContent: The default: an expression that is evaluated each time it is needed, on any thread.
  ///   - key: The key.
  ///   - cache: The cache; the default cache if omitted.
  ///   - persistDefaultContent: Whether to store the default, with this expiry, if the entry is missing.
  ///   - expires: The expiry of contents set through this property. Other properties with the same key use theirs.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(),
    persistDefaultContent: Bool = false, expires: Expiry
  ) {
    self.init(
      PropertyStorage(
        .forKey(key, in: cache), makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
        expires: expires))
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
    persistDefaultContent: Bool = false, expires: Expiry = .never, isObserved: Bool
  ) {
    self.init(
      PropertyStorage(
        .forKey(key, in: cache), makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
        expires: expires, isObserved: isObserved))
    storage.persistDefaultIfAbsent()
  }

  public var _ref: EFStorageLMDBCacheRef<Content> {
    get { storage.ref }
    set {
      self = Self(
        PropertyStorage(
          newValue, makeDefaultContent: makeDefaultContent, persistDefaultContent: persistDefaultContent,
          expires: expires, isObserved: storage.observed != nil))
    }
  }

  /// The reference: `$theme.values`, `$theme.lastFailure`.
  public var projectedValue: EFStorageLMDBCacheRef<Content> { storage.ref }

  public var makeDefaultContent: () -> Content { storage.makeDefaultContent }
  public var persistDefaultContent: Bool { storage.persistDefaultContent }
  /// When contents set through this property expire.
  public var expires: Expiry { storage.expires }

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
    try storage.ref.update(expires: expires) { content in
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
    try storage.ref.store(content, expires: expires)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws(EFStorageFailure) -> Bool {
    try storage.ref.storeIfAbsent(makeContent, expires: expires)
  }

  public func removeContentFromUnderlyingStorage() { content = nil }
}

// Unchecked because of the default's closure, an expression of the caller's that any thread may evaluate: see
// `makeDefaultContent`. The rest is immutable.
extension EFStorageLMDBCache: @unchecked Sendable where Content: Sendable {}

extension EFStorageLMDBCache where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil and whose content expires.
  public init(forKey key: String, in cache: LMDBCache? = LMDBCache.makeDefault(), expires: Expiry) {
    self.init(wrappedValue: nil, forKey: key, in: cache, expires: expires)
  }
}

@usableFromInline
final class PropertyStorage<Content: LMDBCacheStorable> {
  let ref: EFStorageLMDBCacheRef<Content>
  /// The reference's reader; `nil` for an observed property.
  @usableFromInline let reader: EntryReader<Content>?
  let observed: ObservedKey?
  private let cache: LMDBCache?
  private let key: String
  private let failures: FailureRecord
  let turn: Turn
  let makeDefaultContent: () -> Content
  let persistDefaultContent: Bool
  let expires: Expiry

  init(
    _ ref: EFStorageLMDBCacheRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool,
    expires: Expiry, isObserved: Bool = false
  ) {
    self.ref = ref
    observed = isObserved ? ref.storage.map { ObservedKey($0, key: ref.key) } : nil
    reader = observed == nil ? ref.entry?.reader : nil
    cache = ref.storage
    key = ref.key
    failures = ref.failures
    turn = ref.turn
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
    self.expires = expires
  }

  @inlinable
  func set(_ content: Content?) {
    // Inlinable, since only the caller's module knows the type. For a Codable type that is no collection it then
    // removes the cast.
    if let content, case .success(let object) = content.asLMDBCacheStorable(), let value = object as? CacheValue,
      set(value)
    {
      return
    }
    setOrReport(content)
  }

  /// Returns whether the value was stored. Bypasses the reference, whose weak references make reference counting
  /// several times slower.
  @usableFromInline @inline(never)
  func set(_ value: CacheValue) -> Bool {
    guard let cache else { return false }
    do throws(CacheError) {
      try turn.take { () throws(CacheError) in
        try value.set(in: cache, forKey: key, expires: expires, cost: nil, tags: [])
      }
    } catch {
      return false
    }
    failures.clear()
    return true
  }

  @usableFromInline @inline(never)
  func setOrReport(_ content: Content?) {
    do { try ref.store(content, expires: expires) } catch {}
  }

  @usableFromInline @inline(never)
  func contentOrDefault() -> Content {
    _ = observed?.moment
    if let content = ref.content { return content }
    let content = makeDefaultContent()
    // Another thread may have stored a content.
    if persistDefaultContent, !storeDefaultIfAbsent({ content }), let stored = ref.content { return stored }
    return content
  }

  func persistDefaultIfAbsent() {
    if persistDefaultContent { _ = storeDefaultIfAbsent(makeDefaultContent) }
  }

  private func storeDefaultIfAbsent(_ makeContent: () -> Content) -> Bool {
    // The reference reports a failure.
    do { return try ref.storeIfAbsent({ makeContent() }, expires: expires) } catch { return false }
  }
}
