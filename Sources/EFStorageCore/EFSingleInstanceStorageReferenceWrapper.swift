/// A property wrapper over a reference, with a default.
public protocol EFSingleInstanceStorageReferenceWrapper: EFStorage, CustomDebugStringConvertible {
  associatedtype Ref: EFSingleInstanceStorageReference where Content == Ref.Content

  var key: String { get }
  var _ref: Ref { get set }

  /// Whether creating or reading the wrapper stores the default if the place is empty.
  var persistDefaultContent: Bool { get }
  /// Makes the default, each time that it is needed.
  var makeDefaultContent: () -> Content { get }
  /// Removes the stored content, which resets the value to the default.
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
  ///   - makeDefaultContent: The default: an expression that is evaluated each time it is needed.
  ///   - key: The key.
  ///   - storage: The storage; the default storage of its type if omitted.
  ///   - persistDefaultContent: Whether to store the default if the place is empty. Unreadable or concurrently stored
  ///     contents stay: see ``EFSingleInstanceStorageReference/storeContentIfAbsent(_:)``.
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

  /// Returns the content or the default, and stores the default if so configured. For `wrappedValue`.
  public func contentOrDefault() -> Content {
    if let content = _ref.content { return content }
    let content = makeDefaultContent()
    // Another thread or process may have stored a content.
    if persistDefaultContent, !persistDefaultIfAbsent({ content }), let stored = _ref.content { return stored }
    return content
  }

  /// Stores the default unless the place has a content, readable or not. Returns whether it was stored.
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

  /// Changes the value, or the default if the place is empty, as one operation: see
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

  /// A member of the content. Setting it reads and writes the whole content, as `+=` on the property does.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    // Nonmutating, so that observers of failures may use the property.
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

#if canImport(Foundation)
  public import Foundation

  extension EFSingleInstanceStorageReferenceWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      // Nonmutating, so that observers of failures may use the property.
      nonmutating set {
        var wrapper = self
        wrapper.wrappedValue = Content(string: newValue)
      }
    }
  }
#endif

/// Writes a debugging line to the standard error in debug builds of this package. For containers written for EFStorage.
public func _efStorageLog(_ s: String) {
  #if DEBUG
    // A failing standard error cannot be reported.
    try? FileHandle.standardError.write(contentsOf: Data("EFStorage \(s)\n".utf8))
  #endif
}

/// Settings of the table of all references.
public enum _EFStorageInternal {
  /// The number of entries, each a type and a key, at which the table is swept for dead references. 64 by default;
  /// twice the live entries if that is more.
  public static var threshold: UInt {
    get { UInt(ReferenceRegistry.shared.leastSweepLimit) }
    set { ReferenceRegistry.shared.leastSweepLimit = Int(clamping: newValue) }
  }
}
