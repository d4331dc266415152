// Importing a container is enough.
@_exported public import EFStorageCore
import Synchronization

/// A property that is kept in the user's keychain.
///
/// ```swift
/// @EFStorageKeychainAccess(forKey: "token")
/// var token: String?
/// ```
@propertyWrapper
public struct EFStorageKeychainAccess<Content: KeychainAccessStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageKeychainAccessRef<Content>
  public let makeDefaultContent: () -> Content
  public let persistDefaultContent: Bool

  public init(
    __ref: EFStorageKeychainAccessRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    _ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }

  public var wrappedValue: Content {
    get { contentOrDefault() }
    nonmutating set { _ref.content = newValue }
    // `+=` is one change for the threads of this process.
    nonmutating _modify {
      let taken = _ref.turn.begin()
      var content = contentOrDefault()
      defer { _ref.turn.end(taken) { _ref.content = content } }
      yield &content
    }
  }

  /// The reference: `$name.lastFailure`.
  public var projectedValue: EFStorageKeychainAccessRef<Content> { _ref }

  public func removeContentFromUnderlyingStorage() { _ref.content = nil }
}

// Unchecked because of the default's closure, an expression of the caller's that any thread may evaluate: see
// `makeDefaultContent`.
extension EFStorageKeychainAccess: @unchecked Sendable where Content: Sendable {}

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
        case .string(let string): try storage.add(.text(string), key: key)
        case .data(let data): try storage.add(.data(data), key: key)
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

extension Keychain: EFUnderlyingStorage {
  /// Returns ``defaultForEFStorage``. Replaceable with `@_dynamicReplacement(for: makeDefault())`; setting
  /// ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> Keychain { defaultForEFStorage }

  /// The keychain to use if none is given: this program's, `Keychain()`, unless set.
  ///
  /// Set it before the first use: existing references keep their storage. Any thread.
  public static var defaultForEFStorage: Keychain {
    get { standard.withLock { $0 } }
    set { standard.withLock { $0 = newValue } }
  }

  private static let standard = Mutex(Keychain())

  /// Whether they hold the same items, regardless of labels and time limits.
  public static func == (lhs: Keychain, rhs: Keychain) -> Bool {
    // By bytes, as the service compares; `==` of strings uses canonical equivalence.
    lhs.options.scope.mapValues(KeyBytes.init) == rhs.options.scope.mapValues(KeyBytes.init)
  }
}

extension EFUnderlyingStorageWrapper {
  /// The content under a key of this keychain; setting `nil` removes it.
  public subscript<Content: KeychainAccessStorable>(dynamicMember key: String) -> Content? where Base == Keychain {
    get { EFStorageKeychainAccessRef.forKey(key, in: base).content }
    set { EFStorageKeychainAccessRef.forKey(key, in: base).content = newValue }
  }

  /// The content under a key of the default keychain; setting nil removes it.
  public subscript<Content: KeychainAccessStorable>(dynamicMember key: String) -> Content?
  where Base == Keychain.Type {
    get { EFStorageKeychainAccessRef.forKey(key).content }
    set { EFStorageKeychainAccessRef.forKey(key).content = newValue }
  }
}
