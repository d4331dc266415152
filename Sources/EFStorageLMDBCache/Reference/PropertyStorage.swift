import EFStorageCore
public import LMDBCaching

/// What an ``EFStorageLMDBCache`` consists of.
@usableFromInline
final class PropertyStorage<Content: LMDBCacheStorable> {
  let ref: EFStorageLMDBCacheRef<Content>
  /// Of the reference; `nil` for a property that is observed.
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
    // Inlinable, since only the caller's module knows the type. What a Codable type gives is known there as well, so
    // that the cast is none.
    if let content, case .success(let object) = content.asLMDBCacheStorable(), let value = object as? CacheValue,
      set(value)
    {
      return
    }
    setOrReport(content)
  }

  /// Whether the value was stored.
  ///
  /// Past the reference, to which weak references exist: counting references to such an object takes several times as
  /// long as to others.
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

  /// Stores or removes the content, and reports the failure to.
  @usableFromInline @inline(never)
  func setOrReport(_ content: Content?) {
    // A setter cannot throw.
    do { try ref.store(content, expiresIn: expiresIn) } catch {}
  }

  @usableFromInline @inline(never)
  func contentOrDefault() -> Content {
    _ = observed?.moment
    if let content = ref.content { return content }
    let content = makeDefaultContent()
    // Another thread may have stored a content meanwhile.
    if persistDefaultContent, !storeDefaultIfAbsent({ content }), let stored = ref.content { return stored }
    return content
  }

  func persistDefaultIfAbsent() {
    if persistDefaultContent { _ = storeDefaultIfAbsent(makeDefaultContent) }
  }

  /// Whether the default was stored.
  private func storeDefaultIfAbsent(_ makeContent: () -> Content) -> Bool {
    // The reference reports a failure.
    do { return try ref.storeIfAbsent({ makeContent() }, expiresIn: expiresIn) } catch { return false }
  }
}
