public import Foundation
import Synchronization

/// Combines two places: it reads the first, or else the second, and writes to both.
///
/// ```swift
/// @EFStorageComposition(
///   EFStorageUserDefaults(wrappedValue: false, forKey: "isNewUser"),
///   EFStorageUserDefaults(wrappedValue: false, forKey: "firstLaunch"))
/// var isNewUser: Bool
/// ```
///
/// Each write is tried even if the other fails. Then the other place keeps the new content, the failed one reports as
/// it does alone, and ``storeContent(_:)`` throws an ``EFStorageCompositionError``. If the first place has an
/// unreadable content, it reports that, and the second one's is used. So both may have the same key with different
/// types. Observers of failures may read and set the property.
///
/// Reading changes nothing, except that `backfillsFirst` copies a content found only in the second place to the first.
/// This never replaces unreadable or concurrently stored contents, but can undo a removal by another thread at that
/// moment.
@propertyWrapper
public struct EFStorageComposition<A: EFStorage, B: EFStorage, Content>: EFStorage
where A.Content == Content, B.Content == Content {
  private let a: Place<A>
  private let b: Place<B>
  private let backfillsFirst: Bool

  /// - Parameters:
  ///   - a: The place that is read first; its default is used.
  ///   - b: The place that is read if `a` is empty.
  ///   - backfillsFirst: Whether reading a content found only in `b` writes it to `a`.
  public init(_ a: A, _ b: B, backfillsFirst: Bool = false) {
    self.a = Place(a)
    self.b = Place(b)
    self.backfillsFirst = backfillsFirst
  }

  public var wrappedValue: Content {
    get { content ?? a.current.wrappedValue }
    nonmutating set { content = newValue }
  }

  public var content: Content? {
    get {
      // `content`, not `loadContent()`, so that the place reports unreadable contents.
      if let content = a.current.content { return content }
      guard let content = b.current.content else { return nil }
      if backfillsFirst { backfill() }
      return content
    }
    nonmutating set {
      a.change { $0.content = newValue }
      b.change { $0.content = newValue }
    }
  }

  /// A member of the content. Setting it reads and writes the whole content; concurrent changes may be lost.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    nonmutating set {
      var content = wrappedValue
      content[keyPath: keyPath] = newValue
      wrappedValue = content
    }
  }

  /// - Throws: the error of the first place, if its content is unreadable and the second place is empty, which matches
  ///   ``content``.
  public func loadContent() throws -> Content? {
    var unreadable: (any Error)?
    do {
      if let content = try a.current.loadContent() { return content }
    } catch {
      unreadable = error
    }
    do {
      if let content = try b.current.loadContent() {
        if backfillsFirst && unreadable == nil { backfill() }
        return content
      }
    } catch {
      throw unreadable ?? error
    }
    if let unreadable { throw unreadable }
    return nil
  }

  public func storeContent(_ content: Content?) throws {
    let first = failure { try a.change { try $0.storeContent(content) } }
    let second = failure { try b.change { try $0.storeContent(content) } }
    if first == nil && second == nil { return }
    throw EFStorageCompositionError(first: first, second: second)
  }

  /// Stores the content in both places, unless one of them has one.
  ///
  /// - Returns: Whether the first place has stored it.
  /// - Throws: as ``storeContent(_:)``.
  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    guard isAbsent, let content = makeContent() else { return false }
    var isStored = false
    let first = failure { isStored = try a.change { try $0.storeContentIfAbsent { content } } }
    // A concurrently stored content counts.
    if first == nil && !isStored { return false }
    let second = failure { _ = try b.change { try $0.storeContentIfAbsent { content } } }
    if first == nil && second == nil { return true }
    throw EFStorageCompositionError(first: first, second: second)
  }

  /// Copies the second place's content to the first, if that is empty rather than unreadable.
  private func backfill() {
    // The second place is read again after the first, so that a content removed from both in between stays removed. A
    // place reports its own failure.
    do { _ = try a.change { try $0.storeContentIfAbsent { b.current.content } } } catch {}
  }

  private func failure(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }
}

extension EFStorageComposition: Sendable where A: Sendable, B: Sendable {}

/// Converts a content of another type. Setting a content does nothing; `nil` removes the old form.
///
/// Use it as the second part of a composition, which finds the old form and writes the new one. A removed content does
/// not reappear in its old form. An unreadable old form stays: if both forms share a key it may be the new one.
///
/// ```swift
/// @EFStorageComposition(
///   EFStorageUserDefaults<String>(wrappedValue: "none", forKey: "size"),
///   EFStorageMigrate(
///     from: EFStorageUserDefaults<Int>(wrappedValue: 0, forKey: "sizeInPoints"),
///     by: { points in "\(points) pt" }))
/// var size: String
/// ```
public struct EFStorageMigrate<A: EFStorage, OldContent, Content>: EFStorage where A.Content == OldContent {
  public typealias Migrator = @Sendable (OldContent) -> Content

  private let a: Place<A>
  private let migrator: Migrator

  public init(from a: A, by migrator: @escaping Migrator) {
    self.a = Place(a)
    self.migrator = migrator
  }

  public var wrappedValue: Content {
    get { content ?? migrator(a.current.wrappedValue) }
    nonmutating set { content = newValue }
  }

  public var content: Content? {
    get { a.current.content.map(migrator) }
    nonmutating set {
      if newValue.isNil && hasOldForm { a.change { $0.content = nil } }
    }
  }

  public func loadContent() throws -> Content? { try a.current.loadContent().map(migrator) }

  /// Removes the old form if the content is `nil`; otherwise does nothing.
  public func storeContent(_ content: Content?) throws {
    if content.isNil && hasOldForm { try a.change { try $0.storeContent(nil) } }
  }

  /// Does nothing.
  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool { false }

  /// Whether the old form has a content. A null or an unreadable object under a shared key belongs to the new form.
  private var hasOldForm: Bool {
    do { return try !a.current.loadContent().isNil } catch { return false }
  }
}

extension EFStorageMigrate: Sendable where A: Sendable {}

private protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  fileprivate var isNil: Bool {
    guard let self else { return true }
    return (self as? any AnyOptional)?.isNil ?? false
  }
}

/// A write to one of two composed places failed, or to both. A place without an error has the new content; one with an
/// error has the one before.
public struct EFStorageCompositionError: LocalizedError, Sendable, CustomStringConvertible {
  /// What was not written. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The first place; the second one was.
    public static let first = Code("first")
    /// The second place; the first one was.
    public static let second = Code("second")
    /// Neither.
    public static let both = Code("both")
  }

  public let code: Code
  public let first: (any Error)?
  public let second: (any Error)?

  /// - Parameters: One of them is not `nil`.
  init(first: (any Error)?, second: (any Error)?) {
    precondition(first != nil || second != nil, "An error without one.")
    code = first == nil ? .second : second == nil ? .first : .both
    self.first = first
    self.second = second
  }

  /// What happened, and what can be done about it.
  public var message: String {
    switch code {
    case .first:
      "The first of two composed storages was not written, and keeps what it had; the second was. Write again: what is "
        + "read is the first one's."
    case .second:
      "The second of two composed storages was not written, and keeps what it had; the first was. Write again, if the "
        + "second one is read alone."
    default: "Neither of two composed storages was written. Write again when they can be."
    }
  }

  /// The failure beneath this one; where there are two, the first place's.
  public var underlying: (any Error)? { first ?? second }

  public var errorDescription: String? { message }
  public var description: String {
    let causes = [first.map { "first: \($0)" }, second.map { "second: \($0)" }].compactMap { $0 }
    return "\(code): \(message) (\(causes.joined(separator: "; ")))"
  }
}

#if canImport(Foundation)
  public import Foundation

  extension EFContentWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      set { wrappedValue = Content(string: newValue) }
    }
  }

  // Not mutating, so that observers of failures may use the property.

  extension EFStorageComposition where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      nonmutating set { wrappedValue = Content(string: newValue) }
    }
  }

  extension SomeEFStorage where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      set { wrappedValue = Content(string: newValue) }
    }
  }

  extension EFOptionalContentWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String? {
      get { content as String? }
      set { content = newValue.map { Content(string: $0) } }
    }
  }
#endif

/// One of a wrapper's places, accessed as a copy.
///
/// Accesses run hooks and observers of failures, which may access the same property, so the wrapper itself must not be
/// accessed then. A place that holds its content is put back after a write.
///
/// Threads: a lock guards taking and returning the copy; the place decides about its use.
final class Place<Storage> {
  private let lock = Mutex(())
  private var storage: Storage

  init(_ storage: Storage) { self.storage = storage }

  var current: Storage {
    var copy: Storage?
    lock.withLock { _ in copy = storage }
    return copy!
  }

  func change<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    var copy = current
    // Released after the lock: a `deinit` may use the property.
    defer { lock.withLock { _ in swap(&storage, &copy) } }
    return try body(&copy)
  }
}

// Sendable if its storage is: the variable is only used with the lock held.
extension Place: @unchecked Sendable where Storage: Sendable {}
