import Foundation
import Synchronization

extension Garage {
  static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

  /// Runs `body` with the calling thread's view: the stored objects with its pending changes.
  func read<R>(_ body: (GarageView) throws -> R) throws -> R {
    let store = try store()
    let thread = Self.thread
    while true {
      let before = state.withLock { $0.generation }
      let result = try store.read { snapshot -> R? in
        let (pending, now) = state.withLock { state in
          (state.isInBatch(thread) ? state.batches.last ?? state.pending : state.pending, state.generation)
        }
        // Changes saved between the two would be in neither: retry.
        guard now == before else { return nil }
        return try body(GarageView(snapshot: snapshot, pending: pending))
      }
      if let result { return result }
    }
  }

  /// Applies the changes that `body` returns, all or none: saves them or adds them to the pending ones.
  func change(_ body: (GarageView) throws -> PendingChanges) throws {
    try writing.withLock {
      try apply(try read(body))
    }
  }

  func change(_ changes: PendingChanges) throws {
    try writing.withLock { try apply(changes) }
  }

  /// Requires `writing`.
  private func apply(_ changes: PendingChanges) throws {
    guard !changes.isEmpty else { return }
    let store = try store()
    let thread = Self.thread
    let pending: PendingChanges? = state.withLock { state in
      if state.isInBatch(thread), !state.batches.isEmpty {
        state.batches[state.batches.count - 1].merge(changes)
        return nil
      }
      guard state.isAutosaveEnabled else {
        state.pending.merge(changes)
        return nil
      }
      return state.pending
    }
    guard var pending else { return }
    if pending.isEmpty {
      try store.commit(changes)
    } else {
      pending.merge(changes)
      try commitAll(pending, store)
    }
  }

  /// Saves all pending changes. Requires `writing`.
  private func commitAll(_ changes: PendingChanges, _ store: any GarageStore) throws {
    try store.commit(changes)
    state.withLock { state in
      state.pending = PendingChanges()
      state.generation += 1
    }
  }

  func saveAll() throws {
    try writing.withLock {
      let store = try store()
      let thread = Self.thread
      let changes = state.withLock { state in
        state.isInBatch(thread) ? state.batches.last ?? state.pending : state.pending
      }
      guard !changes.isEmpty else { return }
      try commitAll(changes, store)
      // When called in a batch, the batch starts over.
      state.withLock { state in
        guard state.isInBatch(thread) else { return }
        for index in state.batches.indices { state.batches[index] = PendingChanges() }
      }
    }
  }

  /// Runs `body` as a batch: its changes are kept or discarded together.
  func batch<R>(_ body: () throws -> R) throws -> R {
    writing.lock()
    defer { writing.unlock() }
    let thread = Self.thread
    state.withLock { state in
      state.batches.append(state.batches.last ?? state.pending)
      state.batchThread = thread
    }
    let result: R
    do {
      result = try body()
    } catch {
      _ = endBatch()
      throw error
    }
    let (changes, isOutermost) = endBatch()
    let saves = state.withLock { state in
      guard isOutermost else {
        state.batches[state.batches.count - 1] = changes
        return false
      }
      guard state.isAutosaveEnabled else {
        state.pending = changes
        return false
      }
      return !changes.isEmpty
    }
    if saves { try commitAll(changes, try store()) }
    return result
  }

  private func endBatch() -> (PendingChanges, isOutermost: Bool) {
    state.withLock { state in
      let changes = state.batches.removeLast()
      if state.batches.isEmpty { state.batchThread = nil }
      return (changes, state.batches.isEmpty)
    }
  }
}
