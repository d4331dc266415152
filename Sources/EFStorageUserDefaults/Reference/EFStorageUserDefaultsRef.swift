public import EFStorageCore
public import Foundation
import FoundationArchives

/// The content under one key of user defaults.
///
/// Obtain it with `forKey(_:in:)` or `UserDefaults.efStorage`, not by its initializer.
///
/// It keeps nothing of its own: each read asks the defaults, so it is never older than what they say. (What another
/// process wrote they say after `synchronize()`, on Linux.) A write reaches the file within a tenth of a second, or when
/// the process exits; one killed before loses it. Any number of threads may use it if `Content` is Sendable.
///
/// What cannot be read is nil, reported, and kept. A write that fails changes nothing, so that ``content`` is what is
/// stored; it is reported, and ``lastFailure`` tells.
public final class EFStorageUserDefaultsRef<Content: UserDefaultsStorable>: EFSingleInstanceStorageReference {
  public let key: String
  public let storage: UserDefaults
  package let failures = FailureRecord()

  public init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: UserDefaults
  ) {
    self.key = key
    self.storage = storage
  }

  public var content: Content? {
    get {
      do { return try load() } catch { return nil }
    }
    set {
      // Reported: the setter cannot throw.
      do { try store(newValue) } catch {}
    }
  }

  /// - Throws: `EFStorageFailure` if something is there that cannot be read.
  public func loadContent() throws -> Content? { try load() }

  /// - Throws: `EFStorageFailure` if the content cannot be converted.
  public func storeContent(_ content: Content?) throws { try store(content) }

  private func load() throws(EFStorageFailure) -> Content? {
    try reportingLoad { try Content.loadFromUserDefaults(storage, forKey: key) }
  }

  private func store(_ content: Content?) throws(EFStorageFailure) {
    let object: Any?
    do {
      object = try content.flatMap { try PropertyListValue.object(of: $0.asUserDefaultsStorable().get()) }
    } catch {
      throw report(failure(.conversion, error), writing: content)
    }
    DefaultsSynchronizer.shared.changing {
      if let object { storage.set(object, forKey: key) } else { storage.removeObject(forKey: key) }
    }
    DefaultsSynchronizer.shared.noteChange(of: storage) {
      EFStorageFailure(
        .storage, key: "", storage: UserDefaults.self, content: Any.self, underlying: CocoaError(.fileWriteUnknown)
      ).report()
    }
    failures.clear()
  }

  // MARK: Failures

  /// The failure of the last write or read, if it failed.
  public var lastFailure: EFStorageFailure? { failures.last }

  /// Called when a content cannot be converted. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onConversionFailure(for content: Content, dueTo error: any Error) {
    failure(.conversion, error).reportByDefault()
  }

  /// Called when the defaults could not be written. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onStorageFailure(_ error: any Error) { failure(.storage, error).reportByDefault() }

  /// Called when something is stored that cannot be read as a `Content`; it is kept. Once, until it is
  /// read or written. Replaceable with `@_dynamicReplacement(for:)`, in any build.
  public dynamic func onLoadFailure(_ error: any Error) { failure(.loading, error).reportByDefault() }
}

extension EFStorageUserDefaultsRef: ReportingReference {}

// Sendable: user defaults lock for themselves, and the content is only shared if it is Sendable.
extension EFStorageUserDefaultsRef: @unchecked Sendable where Content: Sendable {}
