public import EFStorageCore
public import Foundation
public import LMDBCaching

/// The content under one key of an `LMDBCache`.
///
/// Obtain it with `forKey(_:in:)` or `cache.efStorage`, not by its initializer.
///
/// It never goes stale: a write past it, by the cache, by another wrapper or by another process, is seen by the next
/// read, as the cache itself would see it. Reading a content that has not changed compares a few words and takes no lock
/// that threads share. Any number of threads may use it if `Content` is Sendable.
///
/// A cache that was damaged is made anew when it is opened, and what it had is lost. A reference to a key with nothing
/// under it reports that when it is made, with ``onStorageFailure(_:)``, before any default is stored.
///
/// What cannot be read is `nil`, reported once, and kept. A write that fails changes nothing, so that ``content`` is what
/// is stored; it is reported, and ``lastFailure`` tells.
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

  /// Whoever reads the content would take it for one that was never set.
  private func reportLoss(_ recovery: CacheRecovery, in storage: LMDBCache) {
    do {
      if try storage.containsValue(forKey: key) { return }
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
      // Reported: the setter cannot throw.
      do { try store(newValue) } catch {}
    }
  }

  /// - Throws: `EFStorageFailure` if something is there that cannot be read, or there is no cache to ask.
  public func loadContent() throws(EFStorageFailure) -> Content? {
    // Without a content it may be that there is one that cannot be read.
    if case .some(.some(let content)) = entry?.reader.currentContent() { return content }
    return try load()
  }

  /// The content, and then each that takes its place, whoever writes it: see `LMDBCache.observe(_:forKey:)`.
  public var values: ContentValues<Content> { ContentValues(reference: self) }

  @usableFromInline @inline(never)
  func reloaded() -> Content? {
    do { return try load() } catch { return nil }
  }

  private func load() throws(EFStorageFailure) -> Content? {
    guard let entry, let storage else { return try reportingLoad { throw DefaultCache.shared.reason } }
    let earlier = failures.last
    let content = try reportingLoad { try entry.load { try Content.loadFromLMDBCache(storage, forKey: key) } }
    // That there is nothing still is what was reported.
    if content == nil, let earlier, earlier.kind == .loss { failures.note(earlier) }
    return content
  }

  // MARK: Writing

  /// Stores a content until it is removed or the cache makes room, or removes it.
  public func storeContent(_ content: Content?) throws(EFStorageFailure) { try store(content) }

  /// Stores a content that expires, or removes it.
  ///
  /// - Parameters:
  ///   - expiresIn: After this time the content is gone: never if it is `nil`, at once if it is not positive.
  ///   - cost: What the content counts for against the cache's cost limits; its size in bytes if it is `nil`.
  @inlinable
  public func store(
    _ content: Content?, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(EFStorageFailure) {
    // Inlinable up to here, since only the caller's module knows the type.
    switch content?.asLMDBCacheStorable() {
    case nil: try store(nil, of: nil, expiresIn, cost)
    case .success(let object): try store(object, of: content, expiresIn, cost)
    case .failure(let error): try fail(.conversion, error, content)
    }
  }

  @usableFromInline @inline(never)
  func store(
    _ object: (any NSCoding)?, of content: @autoclosure () -> Content?, _ expiresIn: Duration?, _ cost: Int?
  ) throws(EFStorageFailure) {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, content()) }
    do throws(CacheError) {
      try turn.take { () throws(CacheError) in
        try storage.setObject(object, forKey: key, expiresIn: expiresIn, cost: cost)
      }
    } catch {
      try fail(error.code == .encodingFailed ? .conversion : .storage, error, content())
    }
    failures.clear()
  }

  /// Reads the content, changes it, and stores or removes it, as one operation: no write by another thread or process falls
  /// between. A content that stays expires when it did before. (An `NSCoding` object is written as a set is: what writes it
  /// past the references may be replaced.)
  ///
  /// - Throws: `EFStorageFailure`, and what `change` throws.
  @discardableResult
  public func update(_ change: (inout Content?) throws -> Void) throws -> Content? {
    try update(expires: .unchanged, change)
  }

  func update(expires: Expiry, _ change: (inout Content?) throws -> Void) throws -> Content? {
    let isTaken = turn.begin()
    defer { turn.end(isTaken) {} }
    let start = ContinuousClock.now
    var attempt = 0
    // Beside other writers an attempt succeeds soon; one whose closure writes the entry never does.
    while attempt < 100 || start.duration(to: .now) < .milliseconds(500) {
      attempt += 1
      let version = try version()
      let old = try loadContent()
      var content = old
      try change(&content)
      if old == nil && content == nil { return nil }
      // One that could not be recorded has no version; no other process reads it.
      let isAlone = version == nil && old != nil && attempt > 3
      if try store(content, if: isAlone ? .any : .version(version), expires) { return content }
    }
    let error = CacheError(
      .storageFailed,
      "The entry \"\(key)\" was written each of \(attempt) times that its new content was computed. Leave the new content in "
        + "the closure's argument rather than writing it.")
    try fail(.storage, error, nil)
  }

  private func version() throws(EFStorageFailure) -> EntryVersion? {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, nil) }
    do throws(CacheError) { return try storage.entry(forKey: key)?.version } catch { throw failure(.loading, error) }
  }

  /// The state of the entry that a write demands.
  private enum Condition {
    case any
    case version(EntryVersion?)
  }

  /// Returns whether the condition held.
  private func store(
    _ content: Content?, if condition: Condition, _ expires: Expiry
  ) throws(EFStorageFailure) -> Bool {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, nil) }
    var object: (any NSCoding)?
    switch content?.asLMDBCacheStorable() {
    case nil: break
    case .success(let converted): object = converted
    case .failure(let error): try fail(.conversion, error, content)
    }
    do throws(CacheError) {
      switch (condition, object) {
      case (.version(let version?), nil):
        if try !storage.removeValue(forKey: key, ifVersion: version) { return false }
      case (.version(nil), nil): return false
      case (.version(let version), let value as CacheValue):
        if try !value.set(in: storage, forKey: key, ifVersion: version, expires: expires) { return false }
      default: try storage.setObject(object, forKey: key)
      }
    } catch {
      try fail(error.code == .encodingFailed ? .conversion : .storage, error, content)
    }
    failures.clear()
    return true
  }

  @usableFromInline @inline(never)
  func fail(_ kind: EFStorageFailure.Kind, _ error: any Error, _ content: Content?) throws(EFStorageFailure) -> Never {
    let failure = report(failure(kind, error), writing: content)
    // The next read goes the long way, which clears the failure.
    entry?.forget()
    throw failure
  }

  /// Stores a content unless something is stored, readable or not: nobody's write is replaced, by whichever way and in
  /// whichever process it is made.
  ///
  /// - Parameter makeContent: Called if nothing is stored.
  /// - Returns: Whether it was stored.
  public func storeContentIfAbsent(_ makeContent: () -> Content) throws(EFStorageFailure) -> Bool {
    try storeIfAbsent({ makeContent() }, expiresIn: nil)
  }

  func storeIfAbsent(_ makeContent: () -> Content?, expiresIn: Duration?) throws(EFStorageFailure) -> Bool {
    guard let storage else { try fail(.storage, DefaultCache.shared.reason, nil) }
    guard isAbsent, let content = makeContent() else { return false }
    switch content.asLMDBCacheStorable() {
    case .failure(let error): try fail(.conversion, error, content)
    case .success(let object):
      let isStored: Bool
      do throws(CacheError) {
        isStored = try storage.setObjectIfAbsent(object, forKey: key, expiresIn: expiresIn)
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

  /// Called when the cache could not write or remove, and when the reference is made of a cache that was damaged and
  /// made anew (`CacheError.Code.rebuilt`) and has nothing under the key. Replaceable with `@_dynamicReplacement(for:)`,
  /// in any build.
  public dynamic func onStorageFailure(_ error: any Error) {
    failure((error as? CacheError)?.code == .rebuilt ? .loss : .storage, error).reportByDefault()
  }

  /// Called when something is stored that cannot be read as a `Content`, which is kept, and when there is no cache to ask.
  /// It is called once, until the content is read or written. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageLMDBCacheRef: ReportingReference {}

// Sendable: what it holds is, but for the content, which is only shared if that is Sendable.
extension EFStorageLMDBCacheRef: @unchecked Sendable where Content: Sendable {}
