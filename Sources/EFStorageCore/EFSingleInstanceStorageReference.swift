import Synchronization

/// A reference to the content under one key of one storage: a single object, while referenced, for each type, storage
/// and key.
///
/// The storages of this package have thread-safe references that are never stale. A custom one that keeps its content
/// in a stored property only sees its own writes.
@dynamicMemberLookup
public protocol EFSingleInstanceStorageReference: AnyObject, EFOptionalContentWrapper, CustomDebugStringConvertible {
  associatedtype Storage: EFUnderlyingStorage

  var key: String { get }
  var storage: Storage { get }

  /// Only ``forKey(_:in:)`` calls this, without a lock, so it may read the storage and get other references. Of two
  /// references made concurrently, one is dropped.
  init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself ignored: Bool,
    forKey key: String, in storage: Storage
  )

  /// Stores a content unless the place has one, readable or not.
  ///
  /// The containers of this package do so atomically across threads and processes. By default it looks, and then
  /// stores.
  ///
  /// - Parameter makeContent: Called if the place is empty.
  /// - Returns: Whether the content was stored.
  func storeContentIfAbsent(_ makeContent: () -> Content) throws -> Bool

  /// Reads the content, changes it, and stores or removes it, as one operation.
  ///
  /// In the containers of this package, other changes through this reference and its properties wait; an `LMDBCache`
  /// makes the change atomic across processes. By default it reads, and then stores.
  ///
  /// - Parameter change: Receives the content, or `nil` if it is missing, and leaves the new one, or `nil` to remove
  ///   it. It may be called again, so it should only compute. If it throws, nothing changes.
  /// - Returns: The new content.
  @discardableResult
  func update(_ change: (inout Content?) throws -> Void) throws -> Content?
}

extension EFSingleInstanceStorageReference {
  /// Returns the one reference to `key` in `storage`. Any thread may call it.
  public static func forKey(_ key: String, in storage: Storage = Storage.makeDefault()) -> Self {
    ReferenceRegistry.shared.reference(forKey: key, in: storage)
  }

  public func storeContentIfAbsent(_ makeContent: () -> Content) throws -> Bool {
    guard isAbsent else { return false }
    var reference = self
    try reference.storeContent(makeContent())
    return true
  }

  @discardableResult
  public func update(_ change: (inout Content?) throws -> Void) throws -> Content? {
    let turn = (self as? any ReportingReference)?.turn
    let taken = turn?.begin() ?? 0
    defer { turn?.end(taken) {} }
    let old = try loadContent()
    var content = old
    try change(&content)
    if old == nil && content == nil { return nil }
    var reference = self
    try reference.storeContent(content)
    return content
  }

  public var debugDescription: String { "\(Storage.self)[\(key)] : \(content.debugDescription)" }

  /// A member of the content, if it exists.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Content, Value>) -> Value? { content?[keyPath: keyPath] }

  /// A member of the content, if it exists. Setting it is an ``update(_:)``, and does nothing without a content.
  public subscript<Value>(dynamicMember keyPath: WritableKeyPath<Content, Value>) -> Value? {
    get { content?[keyPath: keyPath] }
    set {
      guard let newValue else { return }
      // The reference reports a failure.
      do { try update { $0?[keyPath: keyPath] = newValue } } catch {}
    }
  }
}

/// All live references, by type, key and storage.
///
/// Types are compared by identity instead of name, keys by their UTF-8 bytes, and storages by `==`.
// Sendable: `slots` is only used with the lock held. References go to any thread; their types decide about sharing.
final class ReferenceRegistry: @unchecked Sendable {
  static let shared = ReferenceRegistry()

  private struct Slot: Hashable {
    let type: ObjectIdentifier
    let key: KeyBytes
  }

  private struct WeakReference {
    weak var object: AnyObject?
  }

  private let lock = Mutex(())
  /// Few: one for each storage.
  private var slots: [Slot: [WeakReference]] = [:]
  /// Dead references are swept at this count, twice the live ones of the last sweep or the minimum: constant time per
  /// slot.
  private var sweepLimit = 64
  private var least = 64

  func reference<Ref: EFSingleInstanceStorageReference>(forKey key: String, in storage: Ref.Storage) -> Ref {
    let slot = Slot(type: ObjectIdentifier(Ref.self), key: KeyBytes(key))
    if let found: Ref = find(slot, in: storage) { return found }
    // It reads the storage and may run any code, so the lock is not held.
    let new = Ref(
      iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself: true, forKey: key, in: storage)
    while true {
      let others: [Ref] = references(in: slot)
      // `==` of the storages may run any code, so the lock is not held.
      if let found = others.first(where: { $0.storage == storage }) { return found }
      if insert(new, into: slot, unlessMoreThan: others) { return new }
    }
  }

  private func find<Ref: EFSingleInstanceStorageReference>(_ slot: Slot, in storage: Ref.Storage) -> Ref? {
    let candidates: [Ref] = references(in: slot)
    return candidates.first { $0.storage == storage }
  }

  private func references<Ref: EFSingleInstanceStorageReference>(in slot: Slot) -> [Ref] {
    lock.withLock { _ in
      (slots[slot] ?? []).compactMap { $0.object.map { $0 as! Ref } }
    }
  }

  /// `false` if the slot has a reference that is not among `known`.
  private func insert<Ref: EFSingleInstanceStorageReference>(
    _ new: Ref, into slot: Slot, unlessMoreThan known: [Ref]
  ) -> Bool {
    lock.withLock { _ in
      let live = (slots[slot] ?? []).filter { $0.object != nil }
      for reference in live where !known.contains(where: { $0 === reference.object }) { return false }
      slots[slot] = live + [WeakReference(object: new)]
      sweepIfNeeded()
      return true
    }
  }

  private func sweepIfNeeded() {
    guard slots.count >= sweepLimit else { return }
    slots = slots.compactMapValues { references in
      let live = references.filter { $0.object != nil }
      return live.isEmpty ? nil : live
    }
    sweepLimit = max(least, slots.count * 2)
  }

  /// 1 or more.
  var leastSweepLimit: Int {
    get { lock.withLock { _ in least } }
    set {
      lock.withLock { _ in
        least = max(1, newValue)
        sweepLimit = least
        sweepIfNeeded()
      }
    }
  }

  /// Includes dead ones.
  var slotCount: Int { lock.withLock { _ in slots.count } }
}

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Serializes the changes of a reference's content.
///
/// It cannot deadlock: user code runs in a turn, may take turns of other references, and may resume on another thread.
/// A thread that has the turn gets it again, and a turn that lasts for two seconds is taken over.
package final class Turn: Sendable {
  private let owner = Atomic<UInt>(0)
  /// How many turns were taken. A queue that moves is waited in.
  private let count = Atomic<Int>(0)
  private let waiting = Atomic<Int>(0)

  package init() {}

  private static var thread: UInt {
    #if canImport(Glibc)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Microseconds between looks, and looks at one turn before it is taken over.
  private static let pause: UInt32 = 100
  private static let limit = 13_000

  /// Returns the thread that took the turn, for ``end(_:after:)``; 0 if it has the turn already.
  package func begin() -> UInt {
    let thread = Self.thread
    let (isTaken, present) = owner.compareExchange(expected: 0, desired: thread, ordering: .acquiringAndReleasing)
    if !isTaken {
      if present == thread { return 0 }
      waitAndTake(thread)
    }
    count.wrappingAdd(1, ordering: .relaxed)
    return thread
  }

  private func waitAndTake(_ thread: UInt) {
    waiting.add(1, ordering: .relaxed)
    defer { waiting.subtract(1, ordering: .relaxed) }
    var (round, seen) = (0, count.load(ordering: .relaxed))
    while true {
      round += 1
      if round > 100 { usleep(Self.pause) } else { sched_yield() }
      let now = count.load(ordering: .relaxed)
      if now != seen { (seen, round) = (now, min(round, 100)) }
      let present = owner.load(ordering: .relaxed)
      if present != 0, round < Self.limit { continue }
      if owner.compareExchange(expected: present, desired: thread, ordering: .acquiringAndReleasing).exchanged {
        return
      }
    }
  }

  /// Runs `write`, and ends the turn that `taken` began, on any thread.
  package func end<R, E: Error>(_ taken: UInt, after write: () throws(E) -> R) throws(E) -> R {
    let thread = Self.thread
    if taken != 0, taken != thread { _ = owner.compareExchange(expected: taken, desired: thread, ordering: .relaxed) }
    defer {
      if taken != 0 {
        _ = owner.compareExchange(expected: thread, desired: 0, ordering: .releasing)
        // A thread that takes turn after turn would leave no gap.
        if waiting.load(ordering: .relaxed) > 0 { usleep(Self.pause) }
      }
    }
    return try write()
  }

  package func take<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R { try end(begin(), after: body) }
}
