/// A place for one content, with a default: what the property wrappers are, and what composes with `+`.
@dynamicMemberLookup
public protocol EFStorage: EFContentWrapper, EFOptionalContentWrapper {
  /// Stores a content unless something is stored, be it readable or not.
  ///
  /// The property wrappers of this package do so as their references do: see
  /// ``EFSingleInstanceStorageReference/storeContentIfAbsent(_:)``. A place of your own that does not implement it looks,
  /// and then stores.
  ///
  /// - Parameter makeContent: Called if nothing is stored. Nothing will be if it returns `nil`.
  /// - Returns: Whether the content was stored.
  mutating func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool
}

extension EFStorage {
  public mutating func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    guard isAbsent, let content = makeContent() else { return false }
    try storeContent(content)
    return true
  }
}

extension EFStorage {
  /// Two places as one: see ``EFStorageComposition``.
  public static func + <Other: EFStorage>(
    lhs: Self, rhs: Other
  ) -> EFStorageComposition<Self, Other, Content> where Other.Content == Content {
    EFStorageComposition(lhs, rhs)
  }
}
