public import EFStorageCore
public import Foundation
public import LMDBCaching

/// The content under one key of an `LMDBCache`.
///
/// Get it from `forKey(_:in:)` or `cache.efStorage`, not from its initializer.
///
/// It is never stale: the next read sees writes through the cache, another wrapper or another process, as the cache
/// would. Reading an unchanged content compares a few words and takes no shared lock. Any number of threads may use it
/// if `Content` is Sendable.
///
/// Opening a damaged cache recreates it without its entries. A reference to a missing entry reports that at its
/// creation with ``onStorageFailure(_:)``, before it stores a default.
///
/// An unreadable entry is `nil`, reported once, and kept. A failed write changes nothing, so ``content`` is the stored
/// one; it is reported and kept in ``lastFailure``.
public final class EFStorageLMDBCacheRef<Content: LMDBCacheStorable>: EFSingleInstanceStorageReference {
  public let key: String
  /// `nil` if the default cache could not be opened. Then ``content`` is `nil`, and reading and writing fail.
  public let storage: LMDBCache?
  @usableFromInline let entry: EntryContent<Content>?
  package let failures = FailureRecord()
  package let turn = Turn()

  public init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: LMDBCache?
  ) {
    self.key = key
    self.storage = storage
    entry = storage.map { EntryContent($0, key: key) }
    if let storage, let recovery = storage.recovery { reportLoss(recovery, in: storage) }
  }

  /// Otherwise the content would seem never to have been set.
  private func reportLoss(_ recovery: CacheRecovery, in storage: LMDBCache) {
    do {
      if try storage.contains(key) { return }
    } catch {
      // Reading the content reports that.
      return
    }
    let error = CacheError(
      .rebuilt, "The cache was damaged, and was made anew when it was opened. Set what is needed again: \(recovery)")
    _ = report(failure(.loss, error), writing: nil)
    entry?.forget()
  }

  // MARK: Reading

  public var content: Content? {
    @inlinable get {
      if let current = entry?.reader.currentContent() { return current }
      return reloaded()
    }
    @inlinable set {
      // The setter reports failures.
      do { try store(newValue) } catch {}
    }
  }

  /// - Throws: `EFStorageFailure` if the entry is unreadable, or the cache is missing.
  public func loadContent() throws(EFStorageFailure) -> Content? {
    // A missing content may be an unreadable one.
    if case .some(.some(let content)) = entry?.reader.currentContent() { return content }
    return try load()
  }

  /// The content, `nil` if it is missing, and its later contents, by any writer.
  ///
  /// ```swift
  /// for try await theme in $theme.values { apply(theme ?? "light") }
  /// ```
  ///
  /// Each iterator starts with the present content and skips to the last of several pending changes. It ends when the
  /// cache is closed, or when its task is cancelled. It throws `EFStorageFailure` for an entry that is unreadable as a
  /// `Content`, a failed read, or a missing cache; the next call waits for the next content.
  public var values: some AsyncSequence<Content?, EFStorageFailure> { ContentValues(reference: self) }

  @usableFromInline @inline(never)
  func reloaded() -> Content? {
    do { return try load() } catch { return nil }
  }

  private func load() throws(EFStorageFailure) -> Content? {
    guard let entry, let storage else { return try reportingLoad { throw DefaultCache.shared.reason } }
    let earlier = failures.last
    let content = try reportingLoad { try entry.load { try Content.loadFromLMDBCache(storage, forKey: key) } }
    // The missing content is the reported loss.
    if content == nil, let earlier, earlier.kind == .loss { failures.note(earlier) }
    return content
  }

  // MARK: Writing

  /// Stores a content without an expiry, or removes it.
  public func storeContent(_ content: Content?) throws(EFStorageFailure) { try store(content) }

  /// Stores a content with an expiry, or removes it.
  ///
  /// - Parameters:
  ///   - expires: When the content expires.
  ///   - cost: The content's share of the cache's cost limits; `nil` for its size in bytes.
  @inlinable
  public func store(
    _ content: Content?, expires: Expiry = .never, cost: Int? = nil
  ) throws(EFStorageFailure) {
    // Inlinable up to here, since only the caller's module knows the type.
    switch content?.asLMDBCacheStorable() {
    case nil: try store(nil, of: nil, expires, cost)
    case .success(let object): try store(object, of: content, expires, cost)
    case .failure(let error): try fail(.conversion, error, content)
    }
  }

  @usableFromInline @inline(never)
  func store(
    _ object: (any NSCoding)?, of content: @autoclosure () -> Content?, _ expires: Expiry, _ cost: Int?
  ) throws(EFStorageFailure) {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, content()) }
    do throws(CacheError) {
      try turn.take { () throws(CacheError) in
        try storage.setObject(object, forKey: key, expires: expires, cost: cost)
      }
    } catch {
      try fail(error.code == .encodingFailed ? .conversion : .storage, error, content())
    }
    failures.clear()
  }

  /// Reads the content, changes it, and stores or removes it, atomically across threads and processes. The expiry is
  /// kept.
  ///
  /// - Throws: `EFStorageFailure`, and any error of `change`.
  @discardableResult
  public func update(_ change: (inout Content?) throws -> Void) throws -> Content? {
    try update(expires: .unchanged, change)
  }

  func update(expires: Expiry, _ change: (inout Content?) throws -> Void) throws -> Content? {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, nil) }
    let taken = turn.begin()
    defer { turn.end(taken) {} }
    var content: Content?
    var failure: (any Error)?
    do throws(CacheError) {
      try storage.edit(key, expires: expires) {
        do {
          let old = try loadContent()
          content = old
          try change(&content)
          guard let content else { return old == nil ? .keep : .remove }
          switch content.asLMDBCacheStorable() {
          case .success(let object): return .store(object)
          case .failure(let error): try fail(.conversion, error, content)
          }
        } catch {
          failure = error
          return .keep
        }
      }
    } catch {
      try fail(error.code == .encodingFailed ? .conversion : .storage, error, content)
    }
    if let failure { throw failure }
    failures.clear()
    return content
  }

  @usableFromInline @inline(never)
  func fail(_ kind: EFStorageFailure.Kind, _ error: any Error, _ content: Content?) throws(EFStorageFailure) -> Never {
    let failure = report(failure(kind, error), writing: content)
    // The next read goes the long way, which clears the failure.
    entry?.forget()
    throw failure
  }

  /// Stores a content unless the entry exists, readable or not, atomically across threads and processes.
  ///
  /// - Parameter makeContent: Called if the entry is missing.
  /// - Returns: Whether it was stored.
  public func storeContentIfAbsent(_ makeContent: () -> Content) throws(EFStorageFailure) -> Bool {
    try storeIfAbsent({ makeContent() }, expires: .never)
  }

  func storeIfAbsent(_ makeContent: () -> Content?, expires: Expiry) throws(EFStorageFailure) -> Bool {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, nil) }
    guard isAbsent, let content = makeContent() else { return false }
    switch content.asLMDBCacheStorable() {
    case .failure(let error): try fail(.conversion, error, content)
    case .success(let object):
      let isStored: Bool
      do throws(CacheError) {
        isStored = try turn.take { () throws(CacheError) in
          try storage.setObject(object, forKey: key, expires: expires, if: .absent)
        }
      } catch {
        try fail(error.code == .encodingFailed ? .conversion : .storage, error, content)
      }
      if isStored { failures.clear() }
      return isStored
    }
  }

  // MARK: Failures

  /// The last failure, until a write or a read succeeds.
  public var lastFailure: EFStorageFailure? { failures.last }

  /// Called when a content cannot be archived. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onConversionFailure(for content: Content, dueTo error: any Error) {
    failure(.conversion, error).reportByDefault()
  }

  /// Called when the cache could not write or remove, and at the creation of a reference to a missing entry of a cache
  /// that was damaged and recreated (`CacheError.Code.rebuilt`). Replaceable with `@_dynamicReplacement(for:)`, in any
  /// build.
  public dynamic func onStorageFailure(_ error: any Error) {
    failure((error as? CacheError)?.code == .rebuilt ? .loss : .storage, error).reportByDefault()
  }

  /// Called once, until it is read or written, for an unreadable entry, which is kept, and for a missing cache.
  /// Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageLMDBCacheRef: ReportingReference {}

// Sendable: its parts are, except the content, which is only shared if it is Sendable.
extension EFStorageLMDBCacheRef: @unchecked Sendable where Content: Sendable {}

/// See ``EFStorageLMDBCacheRef/values``.
struct ContentValues<Content: LMDBCacheStorable>: AsyncSequence {
  typealias Element = Content?
  typealias Failure = EFStorageFailure

  let reference: EFStorageLMDBCacheRef<Content>

  func makeAsyncIterator() -> Iterator { Iterator(reference) }

  struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageLMDBCacheRef<Content>
    private var changes: KeyChanges?

    fileprivate init(_ reference: EFStorageLMDBCacheRef<Content>) {
      self.reference = reference
      changes = reference.storage.map { KeyChanges($0, key: reference.key) }
    }

    mutating func next() async throws(EFStorageFailure) -> Content?? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(EFStorageFailure) -> Content?? {
      guard let storage = reference.storage else { return try .some(reference.loadContent()) }
      while await changes?.next() == true {
        let isNew: Bool
        do throws(CacheError) {
          isNew = try changes?.isNew(storage.entry(forKey: reference.key)) == true
        } catch {
          if error.code == .closed { return nil }
          throw reference.failure(.loading, error)
        }
        do throws(EFStorageFailure) {
          if isNew { return .some(try reference.loadContent()) }
        } catch {
          if (error.underlying as? CacheError)?.code == .closed { return nil }
          throw error
        }
      }
      return nil
    }
  }
}

// Sendable: it only holds the reference.
extension ContentValues: Sendable where Content: Sendable {}
