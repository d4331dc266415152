/// A place for one content, with a default. The property wrappers conform, and `+` composes places.
@dynamicMemberLookup
public protocol EFStorage: EFContentWrapper, EFOptionalContentWrapper {
  /// Stores a content unless the place has one, readable or not.
  ///
  /// The property wrappers of this package do so atomically, as
  /// ``EFSingleInstanceStorageReference/storeContentIfAbsent(_:)`` describes. By default it looks, and then stores.
  ///
  /// - Parameter makeContent: Called if the place is empty. If it returns `nil`, the place stays empty.
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
  /// Combines two places; see ``EFStorageComposition``.
  public static func + <Other: EFStorage>(
    lhs: Self, rhs: Other
  ) -> EFStorageComposition<Self, Other, Content> where Other.Content == Content {
    EFStorageComposition(lhs, rhs)
  }
}
