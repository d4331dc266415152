/// A reference to the content under one key of one storage. There is one object for each type, storage and key, as long
/// as anybody holds it.
///
/// The storages of this package have references that never go stale and may be used from any thread. One of your own
/// that keeps its content in a stored property sees only what is written through it.
@dynamicMemberLookup
public protocol EFSingleInstanceStorageReference: AnyObject, EFOptionalContentWrapper, CustomDebugStringConvertible {
  associatedtype Storage: EFUnderlyingStorage

  var key: String { get }
  var storage: Storage { get }

  /// Called by ``forKey(_:in:)`` only, without a lock: it may read the storage, and ask for other references. Two
  /// threads that ask for one reference may both make one; they get the same, and the other is dropped.
  init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: Storage
  )
}

extension EFSingleInstanceStorageReference {
  /// The one reference to `key` in `storage`. Any thread.
  public static func forKey(_ key: String, in storage: Storage = Storage.makeDefault()) -> Self {
    ReferenceRegistry.shared.reference(forKey: key, in: storage)
  }

  public var debugDescription: String { "\(Storage.self)[\(key)] : \(content.debugDescription)" }

  /// A member of the content, if there is one.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value? { content?[keyPath: keyPath] }

  /// A member of the content, if there is one. Setting it reads, changes and writes the whole content, and does nothing
  /// where there is none.
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
