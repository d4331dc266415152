/// A property wrapper over a reference, with a default.
public protocol EFSingleInstanceStorageReferenceWrapper: EFStorage, CustomDebugStringConvertible {
  associatedtype Ref: EFSingleInstanceStorageReference where Content == Ref.Content

  var key: String { get }
  var _ref: Ref { get set }

  /// Whether the default is stored if nothing is, when the wrapper is made and when it is read.
  var persistDefaultContent: Bool { get }
  /// Makes the default. It is called each time one is needed.
  var makeDefaultContent: () -> Content { get }
  /// Removes what is stored, so that the value is the default again.
  func removeContentFromUnderlyingStorage()

  init(__ref: Ref, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool)
}

extension EFSingleInstanceStorageReferenceWrapper {
  /// A property that is stored under `key`:
  ///
  /// ```swift
  /// @EFStorageUserDefaults(forKey: "theme")
  /// var theme: String = "light"
  /// ```
  ///
  /// - Parameters:
  ///   - makeDefaultContent: The default: an expression that is evaluated each time one is needed.
  ///   - key: The key.
  ///   - storage: Where it is stored; the default storage of its type if none is given.
  ///   - persistDefaultContent: Whether the default is stored if nothing is. What is stored and cannot be read is not
  ///     replaced, nor is what somebody else stores at the same time:
  ///     see ``EFSingleInstanceStorageReference/storeContentIfAbsent(_:)``.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in storage: Ref.Storage = Ref.Storage.makeDefault(),
    persistDefaultContent: Bool = false
  ) {
    self.init(
      __ref: Ref.forKey(key, in: storage), makeDefaultContent: makeDefaultContent,
      persistDefaultContent: persistDefaultContent)
    if persistDefaultContent { persistDefaultIfAbsent(makeDefaultContent) }
  }

  @available(*, deprecated, message: "Give the default as the property's initial value, or as `wrappedValue:`.")
  public init(
    forKey key: String, in storage: Ref.Storage = Ref.Storage.makeDefault(),
    defaultsTo makeDefaultContent: @escaping @autoclosure () -> Content,
    persistDefaultContent: Bool = false
  ) {
    self.init(
      wrappedValue: makeDefaultContent(), forKey: key, in: storage, persistDefaultContent: persistDefaultContent)
  }

  /// Returns the content, or else the default, which is stored if the wrapper is to store it. For `wrappedValue`.
  public func contentOrDefault() -> Content {
    if let content = _ref.content { return content }
    let content = makeDefaultContent()
    // Another thread, or another process, may have stored a content meanwhile.
    if persistDefaultContent, !persistDefaultIfAbsent({ content }), let stored = _ref.content { return stored }
    return content
  }

  /// Stores the default, unless something is there, be it readable or not. Returns whether it was stored.
  @discardableResult
  private func persistDefaultIfAbsent(_ makeDefaultContent: () -> Content) -> Bool {
    // The reference reports a failure.
    do { return try _ref.storeContentIfAbsent(makeDefaultContent) } catch { return false }
  }

  public var key: String { _ref.key }

  public var content: Content? {
    get { _ref.content }
    nonmutating set {
      var ref = _ref
      ref.content = newValue
    }
  }

  /// Changes the value, which is the default where nothing is stored, as one operation: see
  /// ``EFSingleInstanceStorageReference/update(_:)``.
  ///
  /// - Returns: The new value.
  @discardableResult
  public func update(_ change: (inout Content) throws -> Void) throws -> Content {
    try _ref.update { content in
      var value = content ?? makeDefaultContent()
      try change(&value)
      content = value
    } ?? makeDefaultContent()
  }

  /// A member of the content. Setting it reads, changes and writes the whole content, as `+=` on the property does.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    // Who is told of a failure may use the property, of which nothing is accessed meanwhile.
    nonmutating set {
      var wrapper = self
      wrapper.wrappedValue[keyPath: keyPath] = newValue
    }
  }

  public func loadContent() throws -> Content? { try _ref.loadContent() }

  public func storeContent(_ content: Content?) throws {
    var ref = _ref
    try ref.storeContent(content)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    guard _ref.isAbsent, let content = makeContent() else { return false }
    return try _ref.storeContentIfAbsent { content }
  }

  public var debugDescription: String { "\(Ref.Storage.self)[\(key)] : \(content ?? makeDefaultContent())" }
}

extension EFSingleInstanceStorageReferenceWrapper where Content: ExpressibleByNilLiteral {
  /// An optional property whose default is nil.
  public init(forKey key: String, in storage: Ref.Storage = Ref.Storage.makeDefault()) {
    self.init(wrappedValue: nil, forKey: key, in: storage)
  }
}
