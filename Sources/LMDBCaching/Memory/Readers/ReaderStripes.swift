import Platform
import Synchronization

/// Lets threads read memory that another replaces and frees, without a shared lock: a "big reader" lock.
///
/// A reader holds one of several locks, usually used by no other thread, while it follows a pointer and copies the
/// data. A writer replaces the pointer, then takes and releases every lock in turn, after which all readers of the old
/// pointer are done. Reading costs one atomic exchange on the thread's cache line; replacing costs one on each.
@usableFromInline
package final class ReaderStripes: @unchecked Sendable {
  // Unchecked: the pointer leads to locks and is never freed.

  package static let shared = ReaderStripes()

  /// Two cache lines apart, as the prefetcher fetches pairs.
  static var stride: Int { 128 }
  private let memory: UnsafeMutableRawPointer
  private let shift: UInt
  private let count: Int

  private init() {
    var bits = 4
    while bits < 6 && 1 << bits < 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) { bits += 1 }
    count = 1 << bits
    shift = UInt(UInt.bitWidth - bits)
    memory = .allocate(byteCount: count * Self.stride, alignment: Self.stride)
    for number in 0..<count {
      (memory + number * Self.stride).initializeMemory(as: ShortLock.self, to: ShortLock())
    }
  }

  /// The lock for this thread's reads. Critical sections are a few instructions, and call no user code.
  @inline(__always)
  var mine: UnsafeMutablePointer<ShortLock> {
    // Fibonacci hashing of the thread's control block: those of one process differ in the middle bits.
    #if canImport(Darwin)
      let thread = UInt(bitPattern: pthread_self())
    #else
      let thread = UInt(pthread_self())
    #endif
    return lock(Int(bitPattern: (thread &* 0x9E37_79B9_7F4A_7C15) &>> shift))
  }

  @inline(__always)
  private func lock(_ number: Int) -> UnsafeMutablePointer<ShortLock> {
    (memory + number &* Self.stride).assumingMemoryBound(to: ShortLock.self)
  }

  /// Returns when all earlier reads have ended.
  func waitForReaders() {
    for number in 0..<count { lock(number).pointee.withLock {} }
  }
}
