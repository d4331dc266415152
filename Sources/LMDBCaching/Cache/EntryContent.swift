public import Synchronization

/// What somebody made of one entry, kept until the entry changes: reading it again takes no lock that threads share, no
/// look-up and no decoding.
///
/// It is never older than what the cache itself would say: a write, a removal, a trim or the entry's expiry, here or in
/// another process, makes the next read load it anew.
@usableFromInline
package final class EntryContent<Content>: @unchecked Sendable {
  // Unchecked: `current` is followed under a reader stripe, and freed when no reader is left. Whether the content may
  // be shared between threads is for the owner to say.

  @usableFromInline let guardian: EntryGuardian
  /// To an initialized `Copy`, or nil.
  @usableFromInline let current = Atomic<UnsafeMutableRawPointer?>(nil)

  @usableFromInline
  struct Copy {
    @usableFromInline let stamp: EntryGuardian.Stamp
    @usableFromInline let content: Content?
    @usableFromInline let failure: (any Error)?

    init(stamp: EntryGuardian.Stamp, content: Content?, failure: (any Error)?) {
      self.stamp = stamp
      self.content = content
      self.failure = failure
    }
  }

  package init(_ cache: LMDBCache, key: String) { guardian = EntryGuardian(cache, key: key) }

  deinit { free(current.load(ordering: .acquiring)) }

  /// The content that was loaded last; nil: the entry has changed since.
  @inlinable @inline(__always)
  package var currentContent: Content?? {
    let lock = guardian.stripes.mine
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    guard let copy = current.load(ordering: .acquiring)?.assumingMemoryBound(to: Copy.self),
      guardian.isCurrent(copy.pointee.stamp)
    else { return nil }
    return .some(copy.pointee.content)
  }

  /// Why the content that was loaded last is nil; nil: there is none, or the entry has changed since.
  package var currentFailure: (any Error)? {
    let lock = guardian.stripes.mine
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    guard let copy = current.load(ordering: .acquiring)?.assumingMemoryBound(to: Copy.self),
      guardian.isCurrent(copy.pointee.stamp)
    else { return nil }
    return copy.pointee.failure
  }

  /// Calls `load`, which reads the entry, and keeps what it returns, or the error it throws.
  @usableFromInline @inline(never)
  package func load(_ load: () throws -> Content?) throws -> Content? {
    let observed = guardian.observe()
    var content: Content?
    var failure: (any Error)?
    do { content = try load() } catch { failure = error }
    if let observed, failure.map(isAboutTheEntry) ?? true {
      keep(Copy(stamp: guardian.stamp(observed), content: content, failure: failure))
    }
    if let failure { throw failure }
    return content
  }

  /// Whether the error would be the same if the entry were read again.
  private func isAboutTheEntry(_ error: any Error) -> Bool {
    guard let error = error as? CacheError else { return true }
    return [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord].contains(error.code)
  }

  private func keep(_ copy: Copy) {
    let new = UnsafeMutablePointer<Copy>.allocate(capacity: 1)
    new.initialize(to: copy)
    let old = current.exchange(UnsafeMutableRawPointer(new), ordering: .acquiringAndReleasing)
    guard old != nil else { return }
    guardian.stripes.waitForReaders()
    free(old)
  }

  private func free(_ copy: UnsafeMutableRawPointer?) {
    guard let copy = copy?.assumingMemoryBound(to: Copy.self) else { return }
    copy.deinitialize(count: 1)
    copy.deallocate()
  }
}
