/// A reference to the content under one key of one storage: a single object, while referenced, for each type, storage
/// and key.
///
/// The storages of this package have thread-safe references that are never stale. A custom one that keeps its content
/// in a stored property only sees its own writes.
@dynamicMemberLookup
public protocol EFSingleInstanceStorageReference: AnyObject, EFOptionalContentWrapper, CustomDebugStringConvertible {
  associatedtype Storage: EFUnderlyingStorage

  var key: String { get }
  var storage: Storage { get }

  /// Only ``forKey(_:in:)`` calls this, without a lock, so it may read the storage and get other references. Of two
  /// references made concurrently, one is dropped.
  init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: Storage
  )

  /// Stores a content unless the place has one, readable or not.
  ///
  /// The containers of this package do so atomically across threads and processes. By default it looks, and then
  /// stores.
  ///
  /// - Parameter makeContent: Called if the place is empty.
  /// - Returns: Whether the content was stored.
  func storeContentIfAbsent(_ makeContent: () -> Content) throws -> Bool

  /// Reads the content, changes it, and stores or removes it, as one operation.
  ///
  /// In the containers of this package, other changes through this reference and its properties wait; an `LMDBCache`
  /// makes the change atomic across processes. By default it reads, and then stores.
  ///
  /// - Parameter change: Receives the content, or `nil` if it is missing, and leaves the new one, or `nil` to remove
  ///   it. It may be called again, so it should only compute. If it throws, nothing changes.
  /// - Returns: The new content.
  @discardableResult
  func update(_ change: (inout Content?) throws -> Void) throws -> Content?
}

extension EFSingleInstanceStorageReference {
  /// Returns the one reference to `key` in `storage`. Any thread may call it.
  public static func forKey(_ key: String, in storage: Storage = Storage.makeDefault()) -> Self {
    ReferenceRegistry.shared.reference(forKey: key, in: storage)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content) throws -> Bool {
    guard isAbsent else { return false }
    var reference = self
    try reference.storeContent(makeContent())
    return true
  }

  @discardableResult
  public func update(_ change: (inout Content?) throws -> Void) throws -> Content? {
    let turn = (self as? any ReportingReference)?.turn
    let taken = turn?.begin() ?? 0
    defer { turn?.end(taken) {} }
    let old = try loadContent()
    var content = old
    try change(&content)
    if old == nil && content == nil { return nil }
    var reference = self
    try reference.storeContent(content)
    return content
  }

  public var debugDescription: String { "\(Storage.self)[\(key)] : \(content.debugDescription)" }

  /// A member of the content, if it exists.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value? { content?[keyPath: keyPath] }

  /// A member of the content, if it exists. Setting it is an ``update(_:)``, and does nothing without a content.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value? {
    get { content?[keyPath: keyPath] }
    set {
      guard let newValue else { return }
      // The reference reports a failure.
      do { try update { $0?[keyPath: keyPath] = newValue } } catch {}
    }
  }
}
