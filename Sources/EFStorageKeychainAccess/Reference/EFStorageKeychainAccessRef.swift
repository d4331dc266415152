public import EFStorageCore

/// The content under one key of a keychain.
///
/// Get it from `forKey(_:in:)` or `Keychain.efStorage`, not from its initializer.
///
/// It keeps no secret: each read asks the service and is never stale. That takes about a millisecond and blocks the
/// thread, as ``Keychain`` describes. Any number of threads may use it if `Content` is Sendable.
///
/// A content that is unreadable or cannot be asked for is `nil`, reported, and kept. A failed write changes nothing, so
/// ``content`` is the stored one; it is reported and kept in ``lastFailure``. No report contains the content.
public final class EFStorageKeychainAccessRef<Content: KeychainAccessStorable>: EFSingleInstanceStorageReference {
  public let key: String
  public let storage: Keychain
  package let failures = FailureRecord()
  package let turn = Turn()

  public init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: Keychain
  ) {
    self.key = key
    self.storage = storage
  }

  public var content: Content? {
    get {
      do { return try load() } catch { return nil }
    }
    set {
      // The setter reports failures.
      do { try storeContent(newValue) } catch {}
    }
  }

  /// - Throws: `EFStorageFailure` if the item is unreadable, or the service fails.
  public func loadContent() throws(EFStorageFailure) -> Content? { try load() }

  /// - Throws: `EFStorageFailure` if the content cannot be converted, or the service does not store it.
  public func storeContent(_ content: Content?) throws(EFStorageFailure) {
    try turn.take { () throws(EFStorageFailure) in try store(content) }
  }

  private func load() throws(EFStorageFailure) -> Content? {
    try reportingLoad { try Content.loadFromKeychain(storage, forKey: key) }
  }

  /// Keeps an unreadable item of any process.
  ///
  /// - Throws: as ``storeContent(_:)``.
  public func storeContentIfAbsent(_ makeContent: () -> Content) throws(EFStorageFailure) -> Bool {
    guard isAbsent else { return false }
    let content = makeContent()
    guard let storable = try converted(content) else { return false }
    do {
      let isStored = try turn.take {
        switch storable {
        case .string(let string): try storage.add(string, key: key)
        case .data(let data): try storage.add(data, key: key)
        }
      }
      if isStored { failures.clear() }
      return isStored
    } catch {
      throw report(failure(.storage, error), writing: content)
    }
  }

  private func converted(_ content: Content?) throws(EFStorageFailure) -> AsIsKeychainAccessStorable? {
    // A `nil` content of an optional property removes the item, as a keychain has no null.
    guard let content, (content as? any OptionalContent)?.isNone != true else { return nil }
    do {
      return try content.asKeychainAccessStorable().get()
    } catch {
      throw report(failure(.conversion, error), writing: content)
    }
  }

  private func store(_ content: Content?) throws(EFStorageFailure) {
    let storable = try converted(content)
    do {
      switch storable {
      case nil: try storage.remove(key)
      case .string(let string): try storage.set(string, key: key)
      case .data(let data): try storage.set(data, key: key)
      }
    } catch {
      throw report(failure(.storage, error), writing: content)
    }
    failures.clear()
  }

  // MARK: Failures

  /// The last failure, until a write or a read succeeds.
  public var lastFailure: EFStorageFailure? { failures.last }

  /// Called when a content cannot be converted. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onConversionFailure(for content: Content, dueTo error: any Error) {
    failure(.conversion, error).reportByDefault()
  }

  /// Called when the keychain could not be written. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onStorageFailure(_ error: any Error) { failure(.storage, error).reportByDefault() }

  /// Called once, until it is read or written, for a content that is unreadable or cannot be asked for; it is kept.
  /// Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageKeychainAccessRef: ReportingReference {}

extension EFStorageKeychainAccessRef: Sendable where Content: Sendable {}
