public import EFStorageCore
public import LMDBCaching

extension LMDBCache: EFFailableUnderlyingStorage {
  /// Compares identities.
  public static func == (lhs: LMDBCache, rhs: LMDBCache) -> Bool { lhs === rhs }

  /// Returns ``defaultForEFStorage``. Replaceable with `@_dynamicReplacement(for: makeDefault())`; setting
  /// ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> LMDBCache? { defaultForEFStorage }

  /// The cache to use if none is given: `LMDBCache(name: "EFStorage", in: .data)` unless set, opened at its first use.
  /// `nil` while that cannot be opened, which is reported and retried after a second.
  ///
  /// Set it before the first use: existing references keep their storage. Any thread.
  public static var defaultForEFStorage: LMDBCache? {
    get { DefaultCache.shared.cache }
    set { DefaultCache.shared.cache = newValue }
  }
}
