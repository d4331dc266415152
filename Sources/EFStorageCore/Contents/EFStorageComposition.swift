/// Two places as one: the content is that of the first, or else that of the second, and what is set is written to both.
///
/// ```swift
/// @EFStorageComposition(
///   EFStorageUserDefaults(wrappedValue: false, forKey: "isNewUser"),
///   EFStorageUserDefaults(wrappedValue: false, forKey: "firstLaunch"))
/// var isNewUser: Bool
/// ```
///
/// Each write is tried whatever became of the other. If one fails, the other keeps the new content, each place reports
/// as it does alone, and ``storeContent(_:)`` throws an ``EFStorageCompositionError``.
///
/// What the first place has and cannot read it reports, and the content is that of the second. So both may have the same
/// key and read it as different types.
///
/// Who is told of a failure may read and set the property: nothing of it is accessed meanwhile.
///
/// Reading changes nothing unless `backfillsFirst` asks for it: then a content that only the second place has is written
/// to the first. That never replaces what the first place has and cannot read, nor what is stored there meanwhile. A
/// removal by another thread, between the last look at the second place and the write to the first, can be undone by it.
@propertyWrapper
public struct EFStorageComposition<A: EFStorage, B: EFStorage, Content>: EFStorage
where A.Content == Content, B.Content == Content {
  private let a: Place<A>
  private let b: Place<B>
  private let backfillsFirst: Bool

  /// - Parameters:
  ///   - a: The place that is read first, and whose default counts.
  ///   - b: The place that is read if `a` has nothing.
  ///   - backfillsFirst: Whether reading what only `b` has writes it to `a`.
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
      // Through `content`, not `loadContent()`: what cannot be read is reported by the place itself.
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

  /// A member of the content. Setting it reads, changes and writes the whole content; two threads that do so at the
  /// same time can lose one of the changes.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value {
    get { wrappedValue[keyPath: keyPath] }
    nonmutating set {
      var content = wrappedValue
      content[keyPath: keyPath] = newValue
      wrappedValue = content
    }
  }

  /// - Throws: what the first place throws, if it has something that it cannot read and the second place has no content;
  ///   so what is returned is what ``content`` is.
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
  /// - Throws: as ``storeContent(_:)`` does.
  public func storeContentIfAbsent(_ makeContent: () -> Content?) throws -> Bool {
    guard isAbsent, let content = makeContent() else { return false }
    var isStored = false
    let first = failure { isStored = try a.change { try $0.storeContentIfAbsent { content } } }
    // What somebody else has stored there meanwhile is the content now.
    if first == nil && !isStored { return false }
    let second = failure { _ = try b.change { try $0.storeContentIfAbsent { content } } }
    if first == nil && second == nil { return true }
    throw EFStorageCompositionError(first: first, second: second)
  }

  /// Writes to the first place what was found in the second, if the first has nothing, rather than something unreadable.
  private func backfill() {
    // The second place is asked again, after the first: what was removed from both meanwhile is not to come back. A place
    // reports its failure.
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
