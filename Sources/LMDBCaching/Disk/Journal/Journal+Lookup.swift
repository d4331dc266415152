import Platform
import Synchronization

extension Journal {
  /// The newest uncommitted write of `key`. Requires the lock.
  ///
  /// - Parameter position: The newest transaction of another process, loaded before.
  func lookup(_ key: CacheKey, position: UInt64) -> JournalSegment.Lookup {
    let lookup = lookupSegments(key, position)
    if state.hidden.isEmpty { return lookup }
    let hidden = state.hidden.stamp(of: key.utf8)
    if hidden == 0 { return lookup }
    if case .found(let frame) = lookup, frame.stamp > hidden { return lookup }
    return .hidden(hidden)
  }

  @inline(__always)
  private func lookupSegments(_ key: CacheKey, _ position: UInt64) -> JournalSegment.Lookup {
    let hash = key.hash
    if let active = state.active {
      let lookup = active.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    if state.sealed.isEmpty { return .unknown }
    // If another process committed after the segments being committed, they are in the database, though the writer
    // thread has not said so yet, and the database may be newer.
    let committing = committingPosition.load(ordering: .acquiring)
    let committed = committing != 0 && position > committing ? state.committingNumber : 0
    for segment in state.sealed.reversed() where segment.number > committed {
      let lookup = segment.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    return .unknown
  }

  func waits(_ key: CacheKey, position: UInt64) -> Bool {
    if case .unknown = lookup(key, position: position) { false } else { true }
  }

  /// Whether an uncommitted removal by tag removed an entry after it was written.
  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) -> Bool {
    guard tagRemovals.words.latest(of: tags) > stamp, hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      if tags.hashes.contains(where: { state.hidden.tags[$0] ?? 0 > stamp }) { return true }
      func isRemoved(in segment: JournalSegment) -> Bool {
        !segment.tagRemovals.isEmpty && tags.hashes.contains { segment.tagRemovals[$0] ?? 0 > stamp }
      }
      return state.active.map(isRemoved) ?? false || state.sealed.contains(where: isRemoved)
    }
  }

  var hiddenKeys: HiddenKeys? {
    guard hasPending.load(ordering: .acquiring) else { return nil }
    return lock.withLock { state.hidden.isEmpty ? nil : state.hidden }
  }

  /// Whether only the memory tier has the newest value, because it could not be recorded.
  func isHidden(_ key: CacheKey, position: UInt64) -> Bool {
    guard hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      guard !state.hidden.isEmpty, state.hidden.stamp(of: key.utf8) != 0 else { return false }
      if case .found = lookup(key, position: position) { return false }
      return true
    }
  }
}
