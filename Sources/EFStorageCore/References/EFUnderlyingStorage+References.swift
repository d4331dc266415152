extension EFUnderlyingStorage {
  /// Returns the reference to `key` in `storage`, of the type that is asked for.
  public static func refForKey<Content, Ref: EFSingleInstanceStorageReference>(
    _ key: String, in storage: Ref.Storage
  ) -> Ref where Content == Ref.Content, Self == Ref.Storage {
    Ref.forKey(key, in: storage)
  }
}
