import Synchronization

/// The reading side of an ``EntryContent``: a pointer, so that reading counts no reference. Threads that read one content
/// would otherwise pass the line with its reference count to and fro.
@usableFromInline
package struct EntryReader<Content>: BitwiseCopyable {
  @usableFromInline
  struct Copy {
    let stamp: EntryVersionObserver.Stamp
    @usableFromInline let content: Content?
    let failure: (any Error)?
  }

  @usableFromInline let state: UnsafeMutablePointer<EntryState>

  init(_ observer: EntryVersionObserver) {
    state = .allocate(capacity: 1)
    state.initialize(to: EntryState(observer))
  }

  /// When nobody reads any more.
  func deallocate() {
    free(state.pointee.current.load(ordering: .acquiring))
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Whether contents are two words or less without references: they are read without any lock.
  @inlinable @inline(__always)
  static var isPlain: Bool {
    _isPOD(Content.self) && MemoryLayout<Content>.size <= 16 && MemoryLayout<Content>.alignment <= 8
  }

  /// The content that was loaded last, or `nil` if the entry has changed since and is to be loaded.
  @inlinable @inline(__always)
  package var currentContent: Content?? {
    if Self.isPlain {
      let words = EntryState.words(state)
      switch words.state {
      case .content: return .some(withUnsafeBytes(of: words.content) { $0.load(as: Content.self) })
      case .nothing: return .some(nil)
      case .changed: return nil
      }
    }
    let reading = EntryState.begin(state)
    guard let copy = reading.copy else { return nil }
    let content = copy.assumingMemoryBound(to: Copy.self).pointee.content
    EntryState.end(reading)
    return .some(content)
  }

  var currentFailure: (any Error)? {
    let reading = EntryState.begin(state)
    guard let copy = reading.copy else { return nil }
    defer { EntryState.end(reading) }
    return copy.assumingMemoryBound(to: Copy.self).pointee.failure
  }

  func keep(_ copy: Copy) {
    if Self.isPlain {
      EntryState.keep(state, copy.stamp, copy.content.map(plainWords))
      if copy.failure == nil { return }
    }
    let new = UnsafeMutablePointer<Copy>.allocate(capacity: 1)
    new.initialize(to: copy)
    let old = state.pointee.current.exchange(UnsafeMutableRawPointer(new), ordering: .acquiringAndReleasing)
    guard old != nil else { return }
    ReaderStripes.shared.waitForReaders()
    free(old)
  }

  /// The bytes of a plain content.
  private func plainWords(_ content: Content) -> (UInt64, UInt64) {
    var words: (UInt64, UInt64) = (0, 0)
    withUnsafeMutablePointer(to: &words) {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: Content.self).initialize(to: content)
    }
    return words
  }

  private func free(_ copy: UnsafeMutableRawPointer?) {
    guard let copy = copy?.assumingMemoryBound(to: Copy.self) else { return }
    copy.deinitialize(count: 1)
    copy.deallocate()
  }
}
