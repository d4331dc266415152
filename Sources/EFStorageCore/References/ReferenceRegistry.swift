import Synchronization

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
      (slots[slot] ?? []).compactMap { $0.object.map { unsafeDowncast($0, to: Ref.self) } }
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
