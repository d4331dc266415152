/// What keeps contents under keys: `LMDBCache`, `UserDefaults`, a keychain, or a container of your own.
///
/// Two storages that are equal are one storage to EFStorage: references to the same key in them are the same object.
/// So `==` must be true only for storages that keep the same contents. For a class, identity is right.
///
/// Keys are the same if their UTF-8 bytes are: "é" as one character and as two are two keys.
public protocol EFUnderlyingStorage: Equatable {
  /// Returns the storage that is meant where none is named.
  ///
  /// It is called for every use of a default storage, on any thread, so it should return one that is kept.
  static func makeDefault() -> Self
}

/// A storage that may not be there, such as a cache whose directory cannot be opened.
///
/// References to its contents have an optional storage: `Self?`. Without a storage the content is nil, and a write to it
/// is a failure that is reported.
public protocol EFFailableUnderlyingStorage: EFUnderlyingStorage {
  /// Returns the storage that is meant where none is named, or `nil` if it cannot be opened now.
  static func makeDefault() -> Self?
}

extension EFFailableUnderlyingStorage {
  /// Returns the default storage, for those who cannot do without it, and ends the process if there is none. EFStorage
  /// itself always asks for the optional one.
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
