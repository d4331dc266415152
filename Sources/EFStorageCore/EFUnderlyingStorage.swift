/// A storage that keeps contents under keys: `LMDBCache`, `UserDefaults`, a keychain, or a container of your own.
///
/// Equal storages share references, so `==` must be true only if both keep the same contents. For a class, use
/// identity.
///
/// Keys are the same if their UTF-8 bytes are: a composed and a decomposed "é" are two keys.
public protocol EFUnderlyingStorage: Equatable {
  /// Returns the storage to use if none is given.
  ///
  /// It is called for every use of a default storage, on any thread, so return a shared one.
  static func makeDefault() -> Self
}

/// A storage that may be missing, such as a cache whose directory cannot be opened.
///
/// References have an optional storage: `Self?`. Without a storage the content is `nil`, and a write is a reported
/// failure.
public protocol EFFailableUnderlyingStorage: EFUnderlyingStorage {
  /// Returns the storage to use if none is given, or `nil` if it cannot be opened now.
  static func makeDefault() -> Self?
}

extension EFFailableUnderlyingStorage {
  /// Returns the default storage, or ends the process if it is missing. EFStorage itself only uses the optional one.
  public static func makeDefault() -> Self {
    let storage: Self? = makeDefault()
    guard let storage else {
      preconditionFailure("\(Self.self) has no default storage now; ask for `makeDefault() as \(Self.self)?`.")
    }
    return storage
  }
}

extension Optional: EFUnderlyingStorage where Wrapped: EFFailableUnderlyingStorage {
  /// The default storage of the wrapped type, which may be nil.
  public static func makeDefault() -> Self { Wrapped.makeDefault() }
}

/// Gives access to a storage's contents and references as members named like their keys:
/// `UserDefaults.efStorage.theme`, `cache.efStorage.theme`.
///
/// `Base` is a storage, or the type of one for its default storage. Containers add the subscripts. Only the name `base`
/// is not a key.
@dynamicMemberLookup
public final class EFUnderlyingStorageWrapper<Base> {
  /// The storage, or its type.
  public let base: Base

  init(_ base: Base) { self.base = base }
}

extension EFUnderlyingStorage {
  /// The contents of this storage as members.
  public var efStorage: EFUnderlyingStorageWrapper<Self> { EFUnderlyingStorageWrapper(self) }

  /// The contents of the default storage as members.
  public static var efStorage: EFUnderlyingStorageWrapper<Self.Type> { EFUnderlyingStorageWrapper(Self.self) }
}

extension EFUnderlyingStorage {
  /// Returns the reference of the requested type to `key` in `storage`.
  public static func refForKey<Content, Ref: EFSingleInstanceStorageReference>(
    _ key: String, in storage: Ref.Storage
  ) -> Ref where Content == Ref.Content, Self == Ref.Storage {
    Ref.forKey(key, in: storage)
  }
}

extension EFUnderlyingStorageWrapper {
  /// The reference to a key in this storage.
  public subscript<Content, Ref: EFSingleInstanceStorageReference>(dynamicMember key: String) -> Ref
  where Content == Ref.Content, Base == Ref.Storage {
    Ref.forKey(key, in: base)
  }

  /// The reference to a key in the default storage.
  public subscript<Content, Ref: EFSingleInstanceStorageReference>(dynamicMember key: String) -> Ref
  where Content == Ref.Content, Base == Ref.Storage.Type {
    Ref.forKey(key)
  }

  /// The reference to a key in this storage, for a type whose default storage may be missing.
  public subscript<Content, Ref: EFSingleInstanceStorageReference>(dynamicMember key: String) -> Ref
  where Content == Ref.Content, Base: EFFailableUnderlyingStorage, Ref.Storage == Base? {
    Ref.forKey(key, in: base)
  }

  /// The reference to a key in the default storage, which may be missing.
  public subscript<Content, Ref: EFSingleInstanceStorageReference, Storage: EFFailableUnderlyingStorage>(
    dynamicMember key: String
  ) -> Ref where Content == Ref.Content, Base == Storage.Type, Ref.Storage == Storage? {
    Ref.forKey(key)
  }
}

/// A key with the identity of its UTF-8 bytes, as in LMDB and the Secret Service; `==` of strings uses canonical
/// equivalence.
package struct KeyBytes: Hashable, Sendable {
  package let key: String

  package init(_ key: String) { self.key = key }

  package static func == (lhs: KeyBytes, rhs: KeyBytes) -> Bool { lhs.key.utf8.elementsEqual(rhs.key.utf8) }

  package func hash(into hasher: inout Hasher) {
    var key = key
    key.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
