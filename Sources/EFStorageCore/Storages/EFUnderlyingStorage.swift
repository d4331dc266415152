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
