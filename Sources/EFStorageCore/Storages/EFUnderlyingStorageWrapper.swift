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
