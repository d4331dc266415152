import EFStorageLMDBCache
import LMDBCaching

final class KeptProperties: @unchecked Sendable {  // Sendable: the wrappers' references are.
  @EFStorageLMDBCache<Int> var number: Int
  @EFStorageLMDBCache<String> var text: String

  init(_ cache: LMDBCache) {
    _number = EFStorageLMDBCache(wrappedValue: 1, forKey: "number", in: cache, persistDefaultContent: true)
    _text = EFStorageLMDBCache(
      wrappedValue: LockedProperties.text, forKey: "text", in: cache, persistDefaultContent: true)
  }
}
