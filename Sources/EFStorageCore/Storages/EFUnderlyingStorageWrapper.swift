/// Gives access to a storage's contents, and to references to them, as members named like their keys:
/// `UserDefaults.efStorage.theme`, `cache.efStorage.theme`.
///
/// `Base` is a storage, or the type of one for its default storage. Containers add the subscripts that give
/// contents; those for references are here. `base` is the one name that is no key.
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

  /// The reference to a key in this storage, whose type's default may not be there.
  public subscript<Content, Ref: EFSingleInstanceStorageReference>(dynamicMember key: String) -> Ref
  where Content == Ref.Content, Base: EFFailableUnderlyingStorage, Ref.Storage == Base? {
    Ref.forKey(key, in: base)
  }

  /// The reference to a key in the default storage, which may not be there.
  public subscript<Content, Ref: EFSingleInstanceStorageReference, Storage: EFFailableUnderlyingStorage>(
    dynamicMember key: String
  ) -> Ref where Content == Ref.Content, Base == Storage.Type, Ref.Storage == Storage? {
    Ref.forKey(key)
  }
}
