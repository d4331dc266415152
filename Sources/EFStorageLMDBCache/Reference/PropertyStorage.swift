import EFStorageCore
public import LMDBCaching

@usableFromInline
final class PropertyStorage<Content: LMDBCacheStorable> {
  let ref: EFStorageLMDBCacheRef<Content>
  /// The reference's reader; `nil` for an observed property.
  @usableFromInline let reader: EntryReader<Content>?
  let observed: ObservedKey?
  private let cache: LMDBCache?
  private let key: String
  private let failures: FailureRecord
  let turn: Turn
  let makeDefaultContent: () -> Content
  let persistDefaultContent: Bool
  let expiresIn: Duration?

  init(
    _ ref: EFStorageLMDBCacheRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool,
    expiresIn: Duration?, isObserved: Bool = false
  ) {
    self.ref = ref
    observed = isObserved ? ref.storage.map { ObservedKey($0, key: ref.key) } : nil
    reader = observed == nil ? ref.entry?.reader : nil
    cache = ref.storage
    key = ref.key
    failures = ref.failures
    turn = ref.turn
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
    self.expiresIn = expiresIn
  }

  @inlinable
  func set(_ content: Content?) {
    // Inlinable, since only the caller's module knows the type. For a Codable type that is no collection it then
    // removes the cast.
    if let content, case .success(let object) = content.asLMDBCacheStorable(), let value = object as? CacheValue,
      set(value)
    {
      return
    }
    setOrReport(content)
  }

  /// Returns whether the value was stored. Bypasses the reference, whose weak references make reference counting
  /// several times slower.
  @usableFromInline @inline(never)
  func set(_ value: CacheValue) -> Bool {
    guard let cache else { return false }
    do throws(CacheError) {
      try turn.take { () throws(CacheError) in
        try value.set(in: cache, forKey: key, expiresIn: expiresIn, cost: nil)
      }
    } catch {
      return false
    }
    failures.clear()
    return true
  }

  @usableFromInline @inline(never)
  func setOrReport(_ content: Content?) {
    do { try ref.store(content, expiresIn: expiresIn) } catch {}
  }

  @usableFromInline @inline(never)
  func contentOrDefault() -> Content {
    _ = observed?.moment
    if let content = ref.content { return content }
    let content = makeDefaultContent()
    // Another thread may have stored a content.
    if persistDefaultContent, !storeDefaultIfAbsent({ content }), let stored = ref.content { return stored }
    return content
  }

  func persistDefaultIfAbsent() {
    if persistDefaultContent { _ = storeDefaultIfAbsent(makeDefaultContent) }
  }

  private func storeDefaultIfAbsent(_ makeContent: () -> Content) -> Bool {
    // The reference reports a failure.
    do { return try ref.storeIfAbsent({ makeContent() }, expiresIn: expiresIn) } catch { return false }
  }
}
