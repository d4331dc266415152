import Synchronization

/// The reading side of an ``EntryContent``, valid as long as that. A pointer, since a shared reference count would
/// bounce between the processors of its readers.
@usableFromInline
package struct EntryReader<Content>: BitwiseCopyable {
  @usableFromInline
  struct Copy {
    let stamp: EntryVersionObserver.Stamp
    @usableFromInline let content: Content?
  }

  @usableFromInline let state: UnsafeMutablePointer<EntryState>

  init(_ observer: EntryVersionObserver) {
    state = .allocate(capacity: 1)
    state.initialize(to: EntryState(observer))
  }

  /// Call it after the last reader.
  func deallocate() {
    free(state.pointee.current.load(ordering: .acquiring))
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The content that was loaded last, or `nil` if the entry has changed since.
  ///
  /// The result is a copy with separate references, taken under a reader stripe.
  // The effect is true of the whole: it retains, and releases nothing. So a caller need not count references to keep
  // the owner of this reader. Without it the code is correct, but slower.
  @inlinable @inline(never) @_effects(releasenone)
  package func currentContent() -> Content?? {
    let reading = EntryState.begin(state)
    guard let copy = reading.copy else { return nil }
    let content = copy.assumingMemoryBound(to: Copy.self).pointee.content
    EntryState.end(reading)
    return .some(content)
  }

  func keep(_ copy: Copy) {
    let new = UnsafeMutablePointer<Copy>.allocate(capacity: 1)
    new.initialize(to: copy)
    let old = state.pointee.current.exchange(UnsafeMutableRawPointer(new), ordering: .acquiringAndReleasing)
    guard old != nil else { return }
    ReaderStripes.shared.waitForReaders()
    free(old)
  }

  private func free(_ copy: UnsafeMutableRawPointer?) {
    guard let copy = copy?.assumingMemoryBound(to: Copy.self) else { return }
    copy.deinitialize(count: 1)
    copy.deallocate()
  }
}
