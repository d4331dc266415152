extension EFUnderlyingStorage {
  /// Returns the reference of the requested type to `key` in `storage`.
  public static func refForKey<Content, Ref: EFSingleInstanceStorageReference>(
    _ key: String, in storage: Ref.Storage
  ) -> Ref where Content == Ref.Content, Self == Ref.Storage {
    Ref.forKey(key, in: storage)
  }
}
