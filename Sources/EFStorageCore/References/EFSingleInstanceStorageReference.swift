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

  public var debugDescription: String { "\(Storage.self)[\(key)] : \(content.debugDescription)" }

  /// A member of the content, if there is one.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value? { content?[keyPath: keyPath] }

  /// A member of the content, if there is one. Setting it reads, changes and writes the whole content, and does nothing
  /// if there is none.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value? {
    get { content?[keyPath: keyPath] }
    set {
      guard let newValue, var changed = content else { return }
      changed[keyPath: keyPath] = newValue
      var reference = self
      reference.content = changed
    }
  }
}
