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
