public import EFStorageCore
public import Foundation
import FoundationArchives

/// The content under one key of user defaults.
///
/// Get it from `forKey(_:in:)` or `UserDefaults.efStorage`, not from its initializer.
///
/// Each read asks the defaults, so it is never stale. On Linux they show another process's writes after
/// `synchronize()`. Any number of threads may use it if `Content` is Sendable.
///
/// A write reaches the file within a tenth of a second, or when the process exits. A killed process loses only the
/// writes that have not reached it: the file itself is safe, though Foundation on Linux writes it in place, because a
/// hidden copy next to it, whose name ends in `.copy`, replaces an empty or truncated file. That is reported as an
/// `EFStorageFailure.Kind.loss`, as is a damaged file without a copy. Programs that bypass this package to write the
/// file, or call `synchronize()`, are not covered.
///
/// An unreadable content is `nil`, reported, and kept. A failed write changes nothing, so ``content`` is the stored
/// one; it is reported and kept in ``lastFailure``.
///
/// Keys with a composed and a decomposed "é" are different. Foundation on Linux keeps both if one was written to the
/// file before the other is set; otherwise it drops the second one.
public final class EFStorageUserDefaultsRef<Content: UserDefaultsStorable>: EFSingleInstanceStorageReference {
  public let key: String
  public let storage: UserDefaults
  package let failures = FailureRecord()
  package let turn = Turn()

  public init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: UserDefaults
  ) {
    self.key = key
    self.storage = storage
    guard let damage = DefaultsSynchronizer.shared.open(storage) else { return }
    // A stored object was not lost.
    if damage.kind == .lost && storage.object(forKey: key) != nil { return }
    reportDamage(damage)
  }

  private func reportDamage(_ damage: DefaultsDamage) {
    _ = report(failure(damage.kind == .unwritten ? .storage : .loss, damage), writing: nil)
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

  /// - Throws: `EFStorageFailure` if the object is unreadable.
  public func loadContent() throws(EFStorageFailure) -> Content? { try load() }

  /// - Throws: `EFStorageFailure` if the content cannot be converted.
  public func storeContent(_ content: Content?) throws(EFStorageFailure) {
    try turn.take { () throws(EFStorageFailure) in try store(content) }
  }

  func load() throws(EFStorageFailure) -> Content? {
    try reportingLoad { try Content.loadFromUserDefaults(storage, forKey: key) }
  }

  private func converted(_ content: Content) throws(EFStorageFailure) -> Any? {
    do {
      #if !canImport(Darwin)
        if PropertyListValue.beginsWithMark(key.utf8) { throw UserDefaultsStorableError.keyWithMark }
      #endif
      return try PropertyListValue.object(of: content.asUserDefaultsStorable().get())
    } catch {
      throw report(failure(.conversion, error), writing: content)
    }
  }

  private func store(_ content: Content?) throws(EFStorageFailure) {
    var object: Any?
    if let content { object = try converted(content) }
    DefaultsSynchronizer.shared.changing {
      if let object { storage.set(object, forKey: key) } else { storage.removeObject(forKey: key) }
    }
    DefaultsSynchronizer.shared.noteChange(of: storage, onDamage: Self.onDamage)
    failures.clear()
    DefaultsFeed.shared.noteChange(key)
  }

  /// Stores a content unless the key is taken, by a readable or unreadable object of any process.
  ///
  /// - Throws: `EFStorageFailure` if the content cannot be converted.
  public func storeContentIfAbsent(_ makeContent: () -> Content) throws(EFStorageFailure) -> Bool {
    if storage.object(forKey: key) != nil { return false }
    guard let object = try converted(makeContent()) else { return false }
    let isStored = turn.take {
      DefaultsSynchronizer.shared.add(object, forKey: key, to: storage, onDamage: Self.onDamage)
    }
    if isStored {
      failures.clear()
      DefaultsFeed.shared.noteChange(key)
    }
    return isStored
  }

  /// Damage of the file affects all keys, and is reported even after this reference is gone.
  private static var onDamage: @Sendable (DefaultsDamage) -> Void {
    { damage in
      EFStorageFailure(
        damage.kind == .unwritten ? .storage : .loss, key: "", storage: UserDefaults.self, content: Any.self,
        underlying: damage
      ).report()
    }
  }

  // MARK: Failures

  /// The last failure, until a write or a read succeeds.
  public var lastFailure: EFStorageFailure? { failures.last }

  /// Called when a content cannot be converted. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onConversionFailure(for content: Content, dueTo error: any Error) {
    failure(.conversion, error).reportByDefault()
  }

  /// Called when the defaults could not be written, and when their file was found damaged. Replaceable with
  /// `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onStorageFailure(_ error: any Error) {
    let isLoss = (error as? DefaultsDamage).map { $0.kind != .unwritten } ?? false
    failure(isLoss ? .loss : .storage, error).reportByDefault()
  }

  /// Called once, until it is read or written, for an unreadable content, which is kept. Replaceable with
  /// `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageUserDefaultsRef: ReportingReference {}

extension DefaultsDamage: WholeStorageError {}

// Sendable: user defaults lock internally, and the content is only shared if it is Sendable.
extension EFStorageUserDefaultsRef: @unchecked Sendable where Content: Sendable {}
