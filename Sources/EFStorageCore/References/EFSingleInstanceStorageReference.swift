/// A reference to the content under one key of one storage. There is one object for each type, storage and key as long
/// as somebody holds it.
///
/// The storages of this package have references that never go stale and may be used from any thread. One of your own
/// that keeps its content in a stored property sees only what is written through it.
@dynamicMemberLookup
public protocol EFSingleInstanceStorageReference: AnyObject, EFOptionalContentWrapper, CustomDebugStringConvertible {
  associatedtype Storage: EFUnderlyingStorage

  var key: String { get }
  var storage: Storage { get }

  /// Called by ``forKey(_:in:)`` alone, with no lock held, so it may read the storage and ask for other references. Two
  /// threads that ask for one reference may both make one; both get the same, and the other is dropped.
  init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: Storage
  )

  /// Stores a content unless something is stored, be it readable or not.
  ///
  /// The containers of this package look and store in one step: no write by another thread or process falls between. A
  /// container of your own that does not implement it looks, and then stores.
  ///
  /// - Parameter makeContent: Called if nothing is stored.
  /// - Returns: Whether the content was stored.
  func storeContentIfAbsent(_ makeContent: () -> Content) throws -> Bool

  /// Reads the content, changes it, and stores or removes it, as one operation.
  ///
  /// In the containers of this package, changes through references and properties by other threads of the process wait; in an
  /// `LMDBCache` no other write falls between, of any process. A container of your own that does not implement it reads, and
  /// then stores.
  ///
  /// - Parameter change: Is given the content, `nil` if there is none, and leaves the new one, `nil` for none. It may be
  ///   called again, so it should only compute. What it throws is thrown here, and nothing is changed then.
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
    let isTaken = turn?.begin() ?? false
    defer { turn?.end(isTaken) {} }
    let old = try loadContent()
    var content = old
    try change(&content)
    if old == nil && content == nil { return nil }
    var reference = self
    try reference.storeContent(content)
    return content
  }

  public var debugDescription: String { "\(Storage.self)[\(key)] : \(content.debugDescription)" }

  /// A member of the content, if there is one.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value? { content?[keyPath: keyPath] }

  /// A member of the content, if there is one. Setting it is an ``update(_:)`` of the content, and does nothing if there is
  /// none.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value? {
    get { content?[keyPath: keyPath] }
    set {
      guard let newValue else { return }
      // The reference reports a failure.
      do { try update { $0?[keyPath: keyPath] = newValue } } catch {}
    }
  }
}
