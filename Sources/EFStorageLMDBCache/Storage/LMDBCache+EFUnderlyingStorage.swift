public import EFStorageCore
public import LMDBCaching

extension LMDBCache: EFFailableUnderlyingStorage {
  /// Whether they are the same object.
  public static func == (lhs: LMDBCache, rhs: LMDBCache) -> Bool { lhs === rhs }

  /// The cache that is meant where none is named: ``defaultForEFStorage``. Replaceable with
  /// `@_dynamicReplacement(for: makeDefault())`; setting ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> LMDBCache? { defaultForEFStorage }

  /// The cache that is meant where none is named.
  ///
  /// Unless it was set, it is `LMDBCache(name: "EFStorage", in: .data)`, opened when it is first needed. It is nil while
  /// that cannot be opened, which is reported and tried again after a second.
  ///
  /// Set it before the first use: references that exist keep the storage they were made with. Any thread.
  public static var defaultForEFStorage: LMDBCache? {
    get { DefaultCache.shared.cache }
    set { DefaultCache.shared.cache = newValue }
  }
}
