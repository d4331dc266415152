import Dispatch
import Foundation
import Platform
public import Synchronization

/// Releases removed elements later, on another thread, with a bound on their number.
///
/// Elements wait in a buffer of 1,024, which another thread empties within about a millisecond. If it is missing or
/// full, because the thread is starved or evictions outrun it, the caller releases its element itself. Every release
/// waits for the readers first, once for a whole buffer.
@usableFromInline
final class DisposalQueue<Element>: @unchecked Sendable {
  // Unchecked: the buffer is only used under the lock. The elements are `Sendable` keys and values.

  @usableFromInline enum Mode {
    @usableFromInline static var caller: UInt8 { 0 }
    @usableFromInline static var background: UInt8 { 1 }
    @usableFromInline static var main: UInt8 { 2 }
    @usableFromInline static var mainSynchronously: UInt8 { 3 }
  }

  @usableFromInline let mode = Atomic<UInt8>(1)
  @usableFromInline let lock = ShortLock()
  @usableFromInline var buffer: UnsafeMutablePointer<Element>
  @usableFromInline var count = 0
  private var spare: UnsafeMutablePointer<Element>?
  private let hasBulk = Atomic<Bool>(false)
  @usableFromInline let readers: MemoryReaders
  private let queue = DispatchQueue(label: "LMDB disposal")

  @inlinable static var capacity: Int { 1_024 }

  init(readers: MemoryReaders) {
    self.readers = readers
    buffer = .allocate(capacity: Self.capacity)
  }

  deinit {
    buffer.deinitialize(count: count)
    buffer.deallocate()
    spare?.deallocate()
  }

  /// Queues an element, or drops it here. No shard may be locked.
  @inlinable
  func release(_ element: consuming Element) {
    switch mode.load(ordering: .relaxed) {
    case Mode.caller: return withExtendedLifetime(element) { readers.wait() }
    case Mode.background: break
    default: return releaseOnMainThread(element)
    }
    lock.lock()
    let count = self.count
    if count == Self.capacity {
      lock.unlock()
      return withExtendedLifetime(element) { readers.wait() }
    }
    (buffer + count).initialize(to: consume element)
    self.count = count &+ 1
    lock.unlock()
    if count == 0 || count == Self.capacity / 2 { schedule(soon: count > 0) }
  }

  /// Runs a large release in the background; `false` if the caller should run it, for example because another is
  /// waiting.
  func releaseInBulk(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard mode.load(ordering: .relaxed) == Mode.background else { return false }
    guard !hasBulk.exchange(true, ordering: .acquiring) else { return false }
    do {
      try PlatformThread.start(name: "LMDB disposal") {
        work()
        self.hasBulk.store(false, ordering: .releasing)
      }
      return true
    } catch {
      // Without a thread, the caller does it.
      hasBulk.store(false, ordering: .releasing)
      return false
    }
  }

  func drain() {
    while let (elements, count) = takeBuffer() {
      readers.wait()
      elements.deinitialize(count: count)
      giveBack(elements)
    }
  }

  @usableFromInline @inline(never)
  func schedule(soon: Bool) {
    // A while lets elements gather, so that one wake-up serves many.
    if soon {
      queue.async { self.drain() }
    } else {
      queue.asyncAfter(deadline: .now() + .milliseconds(1), execute: drain)
    }
  }

  @usableFromInline @inline(never)
  func releaseOnMainThread(_ element: consuming Element) {
    let isSynchronous = mode.load(ordering: .relaxed) == Mode.mainSynchronously
    if isSynchronous, Thread.isMainThread { return withExtendedLifetime(element) { readers.wait() } }
    // Unbounded: a value that must be released on the main thread must not be released elsewhere.
    let box = Box(element)
    DispatchQueue.main.async { [readers] in
      readers.wait()
      // Taken out there, since this thread may drop the last reference to the box.
      box.element = nil
    }
  }

  private func takeBuffer() -> (UnsafeMutablePointer<Element>, Int)? {
    lock.withLock {
      guard count > 0 else { return nil }
      let taken = (buffer, count)
      buffer = spare ?? .allocate(capacity: Self.capacity)
      spare = nil
      count = 0
      return taken
    }
  }

  private func giveBack(_ elements: UnsafeMutablePointer<Element>) {
    let surplus = lock.withLock {
      if spare != nil { return true }
      spare = elements
      return false
    }
    if surplus { elements.deallocate() }
  }

  // Unchecked: an element is a pair of `Sendable` values, which the main thread takes out.
  private final class Box: @unchecked Sendable {
    var element: Element?
    init(_ element: consuming Element) { self.element = element }
  }
}

/// Collects pairs removed under a lock, for release after it. The first needs no allocation.
@frozen @usableFromInline
struct MemoryReleases<Key, Value>: ~Copyable {
  @usableFromInline var first: MemoryPair<Key, Value>?
  @usableFromInline var rest: [MemoryPair<Key, Value>]

  @inlinable @inline(__always)
  init() {
    first = nil
    rest = []
  }

  @inlinable @inline(__always)
  mutating func append(_ pair: consuming MemoryPair<Key, Value>) {
    if first == nil {
      first = pair
    } else {
      rest.append(pair)
    }
  }
}
