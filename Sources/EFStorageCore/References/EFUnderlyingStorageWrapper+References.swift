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
