/// A place for one content, with a default: what the property wrappers are, and what composes with `+`.
@dynamicMemberLookup
public protocol EFStorage: EFContentWrapper, EFOptionalContentWrapper {}

extension EFStorage {
  /// Two places as one: see ``EFStorageComposition``.
  public static func + <Other: EFStorage>(
    lhs: Self, rhs: Other
  ) -> EFStorageComposition<Self, Other, Content> where Other.Content == Content {
    EFStorageComposition(lhs, rhs)
  }
}
