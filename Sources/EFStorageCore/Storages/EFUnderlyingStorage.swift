/// What keeps contents under keys: `LMDBCache`, `UserDefaults`, a keychain, or a container of your own.
///
/// Two storages that are equal are one storage to EFStorage: references to the same key in them are the same object.
/// So `==` must be true only for storages that keep the same contents. For a class, identity is right.
public protocol EFUnderlyingStorage: Equatable {
  /// The storage that is meant where none is named.
  ///
  /// Called on every use of a default storage, so it should hand out one that is kept. Any thread.
  static func makeDefault() -> Self
}

/// A storage that may not be there, such as a cache whose directory cannot be opened.
///
/// Its references have an optional storage: `EFSingleInstanceStorageReference.Storage` is `Self?`. Without a storage
/// their content is nil, and writing to them is a failure that is reported.
public protocol EFFailableUnderlyingStorage: EFUnderlyingStorage {
  /// The storage that is meant where none is named; nil if it cannot be opened now.
  static func makeDefault() -> Self?
}

extension EFFailableUnderlyingStorage {
  /// The default storage, for those who cannot do without: ends the process when there is none. EFStorage itself
  /// always asks for the optional one.
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

extension EFUnderlyingStorage {
  /// The reference to `key` in `storage`, of the type that is asked for.
  public static func refForKey<Content, Ref: EFSingleInstanceStorageReference>(
    _ key: String, in storage: Ref.Storage
  ) -> Ref where Content == Ref.Content, Self == Ref.Storage {
    Ref.forKey(key, in: storage)
  }
}
