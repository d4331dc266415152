import Platform
import Synchronization

extension Journal {
  /// What waits to be committed says of `key`, newest first. With the lock held.
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
    // Where another process has committed after them, those that are being committed are in the database, although the
    // writer thread has not said so yet; and what is there may be newer.
    let committing = committingPosition.load(ordering: .acquiring)
    let committed = committing != 0 && position > committing ? state.committingNumber : 0
    for segment in state.sealed.reversed() where segment.number > committed {
      let lookup = segment.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    return .unknown
  }

  /// Whether there is a write of the key that is not committed. With the lock held.
  func waits(_ key: CacheKey, position: UInt64) -> Bool {
    if case .unknown = lookup(key, position: position) { false } else { true }
  }

  /// Whether something that has one of the tags was removed after it was written, by a removal that is not committed.
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

  /// What is hidden now, or `nil` if nothing is.
  var hiddenKeys: HiddenKeys? {
    guard hasPending.load(ordering: .acquiring) else { return nil }
    return lock.withLock { state.hidden.isEmpty ? nil : state.hidden }
  }

  /// Whether the newest value under `key` is with the memory tier only, since it could not be recorded.
  func isHidden(_ key: CacheKey, position: UInt64) -> Bool {
    guard hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      guard !state.hidden.isEmpty, state.hidden.stamp(of: key.utf8) != 0 else { return false }
      if case .found = lookup(key, position: position) { return false }
      return true
    }
  }
}
