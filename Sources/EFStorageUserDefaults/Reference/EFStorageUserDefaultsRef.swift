public import EFStorageCore
public import Foundation
import FoundationArchives

/// The content under one key of user defaults.
///
/// Obtain it with `forKey(_:in:)` or `UserDefaults.efStorage`, not by its initializer.
///
/// It keeps nothing of its own: each read asks the defaults, so it is never older than what they say. On Linux they say
/// what another process wrote after `synchronize()`. Any number of threads may use it if `Content` is Sendable.
///
/// A write reaches the file within a tenth of a second, or when the process exits. A process that is killed before loses
/// it, and nothing else: the file is never lost, though Foundation on Linux writes it in place. A copy beside it, a
/// hidden file whose name ends in `.copy`, replaces a file that is found empty or cut off. That is reported as an
/// `EFStorageFailure.Kind.loss`, as is a damaged file without a copy. Programs that write the file past this package,
/// or call `synchronize()` themselves, take no part in this.
///
/// What cannot be read is `nil`, reported, and kept. A write that fails changes nothing, so that ``content`` is what is
/// stored; it is reported, and ``lastFailure`` tells.
///
/// Two keys that differ only in how "é" is composed are two for the reference. Foundation on Linux keeps both too if one
/// was written to the file before the other is set; else it forgets the second one when the file is written.
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
    // What is there was not lost.
    if damage.kind == .lost && storage.object(forKey: key) != nil { return }
    reportDamage(damage)
  }

  /// Reports what happened to the file.
  private func reportDamage(_ damage: DefaultsDamage) {
    _ = report(failure(damage.kind == .unwritten ? .storage : .loss, damage), writing: nil)
  }

  public var content: Content? {
    get {
      do { return try load() } catch { return nil }
    }
    set {
      // Reported: the setter cannot throw.
      do { try storeContent(newValue) } catch {}
    }
  }

  /// - Throws: `EFStorageFailure` if something is there that cannot be read.
  public func loadContent() throws(EFStorageFailure) -> Content? { try load() }

  /// - Throws: `EFStorageFailure` if the content cannot be converted.
  public func storeContent(_ content: Content?) throws(EFStorageFailure) {
    try turn.take { () throws(EFStorageFailure) in try store(content) }
  }

  func load() throws(EFStorageFailure) -> Content? {
    try reportingLoad { try Content.loadFromUserDefaults(storage, forKey: key) }
  }

  /// Returns the object to store, or `nil` if nothing is to be stored.
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

  /// Stores a content unless something is stored, readable or not, by this process or by another one.
  ///
  /// - Throws: `EFStorageFailure` if the content cannot be converted.
  public func storeContentIfAbsent(_ makeContent: () -> Content) throws(EFStorageFailure) -> Bool {
    if storage.object(forKey: key) != nil { return false }
    guard let object = try converted(makeContent()) else { return false }
    let isStored = DefaultsSynchronizer.shared.add(object, forKey: key, to: storage, onDamage: Self.onDamage)
    if isStored {
      failures.clear()
      DefaultsFeed.shared.noteChange(key)
    }
    return isStored
  }

  /// What happened to the file concerns all keys, and is told when nobody may have this reference any more.
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

  /// Called when the defaults could not be written, and when their file was found damaged. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onStorageFailure(_ error: any Error) {
    let isLoss = (error as? DefaultsDamage).map { $0.kind != .unwritten } ?? false
    failure(isLoss ? .loss : .storage, error).reportByDefault()
  }

  /// Called when something is stored that cannot be read as a `Content`, which is kept. It is called once, until the content
  /// is read or written. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageUserDefaultsRef: ReportingReference {}

extension DefaultsDamage: WholeStorageError {}

// Sendable: user defaults lock for themselves, and the content is only shared if it is Sendable.
extension EFStorageUserDefaultsRef: @unchecked Sendable where Content: Sendable {}
