public import CPlatform
import Dispatch
import Foundation
import Platform
public import Synchronization

/// The threads that read a store without its locks. Removers wait here for earlier reads, then release the memory.
///
/// A thread announces itself in its ``MemoryReader``, then reads; a remover unlinks, then looks at every reader. A
/// sequentially consistent fence is between the two steps of each, so the reader misses the removed memory, or is seen
/// and waited for. A read takes tens of nanoseconds, waits for nothing and calls no user code except `==` of keys:
/// waiting for one is like waiting for a ``ShortLock``. (As the quiescence of RCU, and of Fraser's epochs, but a
/// reader's word is different each time instead of an epoch.)
///
/// Threads have numbers while they live (`cplatform_take_thread_number`). Threads beyond the last number read under the
/// locks.
@usableFromInline
// Unchecked: the memory behind the pointer is atomic or belongs to one thread, and lives as long as this.
@safe final class MemoryReaders: @unchecked Sendable {
  @usableFromInline let lines: UnsafeMutableRawPointer
  @usableFromInline let count: UInt32

  /// For what is read without a store.
  static let shared = MemoryReaders()

  init() {
    count = cplatform_thread_numbers()
    unsafe lines = .allocate(byteCount: Int(count) * MemoryReader.stride, alignment: 128)
    for number in 0..<count { line(number).initialize(to: MemoryReader()) }
  }

  deinit { unsafe lines.deallocate() }

  @inlinable @inline(__always)
  func line(_ number: UInt32) -> MemoryReference<MemoryReader> {
    assert(number < count)
    let place = unsafe lines + Int(truncatingIfNeeded: number) &* MemoryReader.stride
    return unsafe MemoryReference(place.assumingMemoryBound(to: MemoryReader.self))
  }

  // MARK: Reading

  /// This thread's line after an announcement, or `nil` if it has none or is reading already.
  @inlinable @inline(__always)
  func enter() -> MemoryReference<MemoryReader>? {
    var number = cplatform_thread_number()
    if number >= count {
      number = cplatform_take_thread_number()
      if number >= count { return nil }
    }
    let line = line(number)
    return line.pointee.enter() ? line : nil
  }

  // MARK: Waiting

  /// Returns when all reads that may have found earlier removals have ended. A reading thread must not call it.
  @usableFromInline @inline(never)
  func wait() {
    cplatform_fence()
    for number in 0..<min(count, cplatform_thread_numbers_given()) {
      let line = line(number)
      let word = line.pointee.word.load(ordering: .acquiring)
      if word & 1 != 0 { wait(for: number, toLeave: word) }
    }
  }

  private func wait(for number: UInt32, toLeave word: UInt64) {
    let line = line(number)
    var backoff = ShortBackoff()
    while line.pointee.word.load(ordering: .acquiring) == word { backoff.pause() }
  }

  // MARK: Counts

  var counts: (hits: Int, misses: Int) {
    var sums = (hits: 0, misses: 0)
    for number in 0..<min(count, cplatform_thread_numbers_given()) {
      sums.hits += line(number).pointee.hits.load(ordering: .relaxed)
      sums.misses += line(number).pointee.misses.load(ordering: .relaxed)
    }
    return sums
  }
}

/// The lock-free reads of one thread in one store, in a cache line that only that thread writes.
///
/// Numbers pass between threads under a lock, so a line is one sequence of writes.
@frozen @usableFromInline
struct MemoryReader: ~Copyable {
  /// Odd while the thread reads, different each time.
  @usableFromInline let word = Atomic<UInt64>(0)
  @usableFromInline let hits = Atomic<Int>(0)
  @usableFromInline let misses = Atomic<Int>(0)

  @inlinable
  init() {}

  /// The distance between lines, including the scratch memory.
  @inlinable static var stride: Int { 256 }
  @inlinable static var scratchBytes: Int { 128 }

  /// Memory for copies during reads, behind the pair of cache lines that the processor fetches together.
  @inlinable @inline(__always)
  static func scratch<T>(of line: MemoryReference<Self>, as type: T.Type) -> MemoryReference<T> {
    unsafe MemoryReference((UnsafeMutableRawPointer(line.pointer) + 128).assumingMemoryBound(to: T.self))
  }

  /// Announces a read; returns `false` if this thread is reading already.
  @inlinable @inline(__always)
  borrowing func enter() -> Bool {
    let word = word.load(ordering: .relaxed)
    if word & 1 != 0 { return false }
    // No later load may precede the announcement. On x86-64 an exchange ensures that at half the cost of store and
    // fence.
    #if arch(x86_64)
      _ = self.word.exchange(word &+ 1, ordering: .sequentiallyConsistent)
    #else
      self.word.store(word &+ 1, ordering: .relaxed)
      atomicMemoryFence(ordering: .sequentiallyConsistent)
    #endif
    return true
  }

  @inlinable @inline(__always)
  borrowing func leave() {
    let word = word.load(ordering: .relaxed)
    // Without the fence the compiler moves the retain of a value behind the store: see ShortLock.
    atomicMemoryFence(ordering: .releasing)
    self.word.store(word &+ 1, ordering: .releasing)
  }

  @inlinable @inline(__always)
  borrowing func countHit() { hits.store(hits.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  @inlinable @inline(__always)
  borrowing func countMissForHit() {
    hits.store(hits.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    countMiss()
  }

  @inlinable @inline(__always)
  borrowing func countMiss() { misses.store(misses.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

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
  @usableFromInline var buffer: [Element] = []
  private let hasBulk = Atomic<Bool>(false)
  @usableFromInline let readers: MemoryReaders
  private let queue = DispatchQueue(label: "LMDB disposal")

  @inlinable static var capacity: Int { 1_024 }

  init(readers: MemoryReaders) {
    self.readers = readers
    buffer.reserveCapacity(Self.capacity)
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
    let count = buffer.count
    if count == Self.capacity {
      lock.unlock()
      return withExtendedLifetime(element) { readers.wait() }
    }
    buffer.append(consume element)
    lock.unlock()
    if count == 0 || count == Self.capacity / 2 { schedule(soon: count > 0) }
  }

  /// Runs a large release in the background; `false` if the caller should run it, for example because another is
  /// waiting.
  func releaseInBulk(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard mode.load(ordering: .relaxed) == Mode.background else { return false }
    guard !hasBulk.exchange(true, ordering: .acquiring) else { return false }
    DispatchQueue.global(qos: .utility).async { [self] in
      work()
      hasBulk.store(false, ordering: .releasing)
    }
    return true
  }

  func drain() {
    // Reserved outside of the lock.
    var elements: [Element] = []
    elements.reserveCapacity(Self.capacity)
    while exchange(&elements) {
      readers.wait()
      elements.removeAll(keepingCapacity: true)
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

  /// Takes the queued elements in exchange for an empty buffer. Returns whether there are any.
  private func exchange(_ elements: inout [Element]) -> Bool {
    lock.withLock {
      swap(&buffer, &elements)
      return !elements.isEmpty
    }
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
