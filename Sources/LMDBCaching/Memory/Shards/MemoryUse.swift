/// The uses of an entry since it entered its queue, in one byte that a hit may change.
///
/// Uses are counted once per *generation*, in which a quarter of the small queue is replaced. So a burst counts once,
/// an entry passes through the queue in four generations, and a hot entry is written once per generation.
@frozen @usableFromInline
struct MemoryUse: Equatable {
  /// Generation of the last use (4 bits), number of uses (2 bits), used in this queue (1 bit).
  @usableFromInline var bits: UInt8

  @inlinable static var generations: UInt8 { 16 }
  @inlinable static var most: UInt8 { 3 }

  /// For an entry that enters its first queue.
  @inlinable @inline(__always)
  init(generation: UInt8) { bits = generation }

  @inlinable @inline(__always)
  init(bits: UInt8) { self.bits = bits }

  @inlinable @inline(__always)
  var generation: UInt8 { bits & 0x0F }

  @inlinable @inline(__always)
  var count: UInt8 {
    get { bits &>> 4 & 3 }
    set { bits = bits & 0xCF | newValue &<< 4 }
  }

  @inlinable @inline(__always)
  var isTouched: Bool { bits & 0x40 != 0 }

  /// After a use in another generation.
  @inlinable @inline(__always)
  func used(in generation: UInt8) -> MemoryUse {
    MemoryUse(bits: generation | min(Self.most, count &+ 1) &<< 4 | 0x40)
  }

  /// At its second chance in the small queue: the uses stay.
  @inlinable @inline(__always)
  func queued(in generation: UInt8) -> MemoryUse { MemoryUse(bits: bits & 0x30 | generation) }
}
