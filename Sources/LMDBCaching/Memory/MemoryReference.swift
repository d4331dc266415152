public import CPlatform

/// A place in the memory of a store. ``MemoryCache`` says which threads may use it.
///
/// Safe because only the owners of the memory make references, of initialized places or of ones to initialize at once. A
/// reference is used during the lock, or the reading, in which it was made, or by an object that keeps the owner.
@safe @frozen @usableFromInline
struct MemoryReference<Pointee: ~Copyable> {
  @usableFromInline let pointer: UnsafeMutablePointer<Pointee>

  @inlinable @inline(__always)
  init(_ pointer: UnsafeMutablePointer<Pointee>) { unsafe self.pointer = unsafe pointer }

  @inlinable
  var pointee: Pointee {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) }
    @inline(__always) nonmutating unsafeMutableAddress { unsafe pointer }
  }

  @inlinable @inline(__always)
  func initialize(to value: consuming Pointee) { unsafe pointer.initialize(to: value) }

  /// Leaves the place uninitialized.
  @unsafe @inlinable @inline(__always)
  func move() -> Pointee { unsafe pointer.move() }

  /// Moves from another place into this uninitialized one.
  @unsafe @inlinable @inline(__always)
  func move(from other: Self) { unsafe pointer.moveInitialize(from: other.pointer, count: 1) }

  @inlinable @inline(__always)
  func prefetch() { unsafe cplatform_prefetch_to_write(pointer) }

  /// Allocates a place. `free` releases it.
  static func allocated(_ value: consuming Pointee) -> Self {
    let reference = unsafe Self(.allocate(capacity: 1))
    reference.initialize(to: value)
    return reference
  }

  @unsafe func free() {
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }

  /// - Parameter address: 0 for `nil`, or of a place with such a value.
  @unsafe @inlinable @inline(__always)
  init?(address: UInt) {
    guard let pointer = unsafe UnsafeMutablePointer<Pointee>(bitPattern: address) else { return nil }
    unsafe self.pointer = unsafe pointer
  }
}

// Sendable: a place is used with its shard's lock held, by its reader alone, or is atomic.
extension MemoryReference: @unchecked Sendable where Pointee: ~Copyable & Sendable {}
extension MemoryReference: BitwiseCopyable where Pointee: ~Copyable {}
