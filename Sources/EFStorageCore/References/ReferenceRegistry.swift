import Synchronization

/// Every reference that somebody holds, found by its type, its key and its storage.
///
/// Types are told apart by identity, not by name, keys by their UTF-8 bytes, and storages by `==`.
// Sendable: `slots` is touched with the lock held only. References are handed out to whichever thread asks; whether
// they may be shared between threads is up to their types.
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
  /// The references of one type to one key are few: one for each storage.
  private var slots: [Slot: [WeakReference]] = [:]
  /// At so many slots the dead ones are swept out, which costs each slot a constant time in total: twice as many as were
  /// live the last time, but not fewer than the least.
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
      (slots[slot] ?? []).compactMap { $0.object.map { unsafeDowncast($0, to: Ref.self) } }
    }
  }

  /// Whether `new` was inserted: it is not if the slot holds a reference that is not among `known`.
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

  /// From 1 on.
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

  /// How many slots there are, dead ones included.
  var slotCount: Int { lock.withLock { _ in slots.count } }
}
