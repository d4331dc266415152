import Platform
public import Synchronization

/// Memory for a store's tables and for its chunks of slots.
///
/// Small allocations use the system allocator, so that a small cache is small: arrays below 128 KiB, and the first
/// megabyte of chunks. The rest is cut from regions of 2 MiB that the kernel may back by huge pages; otherwise nearly
/// every hit in a large cache would miss the TLB. Unused regions are freed, except the last one of chunks. Arrays above
/// 512 KiB use the system allocator: the kernel may take 10 ms to find huge pages for one, during which its shard is
/// locked.
@usableFromInline
final class MemoryArena: @unchecked Sendable {
  // Unchecked: everything mutable is used under the lock.

  private static let smallBytes = 1 << 20
  private static let smallTableBytes = 128 << 10

  private let lock = ShortLock()
  private let chunkBytes: Int
  private var small = 0
  private var regions: [UInt: MemoryRegion] = [:]
  /// The regions with room for each size; the last is used next.
  private var open: [Int: [UInt]] = [:]
  private var retired: [Retired] = []
  /// Whether `reclaim` has work.
  @usableFromInline let hasRetired = Atomic<Bool>(false)

  /// Unlinked memory that may still be read.
  enum Retired {
    case chunk(UnsafeMutableRawPointer)
    case array(UnsafeMutableRawPointer, bytes: Int)
    case slabs(UnsafeMutablePointer<MemorySlab>)
  }

  init(chunkBytes: Int) {
    // Whole cache lines, so that details that divide a line never straddle two.
    self.chunkBytes = (chunkBytes + 63) & ~63
  }

  deinit {
    free(retired)
    for region in regions.values { region.base.deallocate() }
  }

  // MARK: Chunks of slots

  func allocateChunk() -> UnsafeMutableRawPointer {
    lock.withLock {
      if small >= Self.smallBytes { return cut(chunkBytes) }
      small += chunkBytes
      return .allocate(byteCount: chunkBytes, alignment: 64)
    }
  }

  func deallocateChunk(_ chunk: UnsafeMutableRawPointer) {
    lock.withLock {
      if giveBack(chunk, keepingOne: true) { return }
      small -= chunkBytes
      chunk.deallocate()
    }
  }

  // MARK: Tables

  /// Aligned to cache lines.
  @usableFromInline
  func allocate(bytes: Int) -> UnsafeMutableRawPointer {
    if bytes < Self.smallTableBytes { return .allocate(byteCount: bytes, alignment: 64) }
    let rounded = (bytes + 63) & ~63
    if rounded <= MemoryRegion.bytes / 4 { return lock.withLock { cut(rounded) } }
    return .allocate(byteCount: bytes, alignment: 64)
  }

  func deallocate(_ memory: UnsafeMutableRawPointer, bytes: Int) {
    if bytes >= Self.smallTableBytes, lock.withLock({ giveBack(memory, keepingOne: false) }) { return }
    memory.deallocate()
  }

  // MARK: Deferred release

  @usableFromInline
  func retire(_ memory: UnsafeMutableRawPointer, bytes: Int) { retire(.array(memory, bytes: bytes)) }

  func retire(_ memory: Retired) {
    lock.withLock { retired.append(memory) }
    hasRetired.store(true, ordering: .relaxed)
  }

  /// Frees retired memory after waiting for its readers. No shard may be locked.
  @usableFromInline @inline(never)
  func reclaim(_ readers: MemoryReaders) {
    hasRetired.store(false, ordering: .relaxed)
    let memory = lock.withLock {
      let memory = retired
      retired = []
      return memory
    }
    readers.wait()
    free(memory)
  }

  private func free(_ memory: [Retired]) {
    for part in memory {
      switch part {
      case .chunk(let chunk): deallocateChunk(chunk)
      case .array(let memory, let bytes): deallocate(memory, bytes: bytes)
      case .slabs(let slabs): slabs.deallocate()
      }
    }
  }

  // MARK: Under the lock

  private func cut(_ bytes: Int) -> UnsafeMutableRawPointer {
    if open[bytes, default: []].isEmpty {
      let base = UnsafeMutableRawPointer.allocate(byteCount: MemoryRegion.bytes, alignment: MemoryRegion.bytes)
      #if os(Linux)
        madvise(base, MemoryRegion.bytes, MADV_HUGEPAGE)
      #endif
      regions[UInt(bitPattern: base)] = MemoryRegion(chunkBytes: bytes, base: base)
      open[bytes, default: []].append(UInt(bitPattern: base))
    }
    let key = open[bytes]!.last!
    let chunk = regions[key]!.allocate()
    if regions[key]!.isFull { open[bytes]!.removeLast() }
    return chunk
  }

  /// Returns `false` if it belongs to no region.
  private func giveBack(_ chunk: UnsafeMutableRawPointer, keepingOne: Bool) -> Bool {
    let key = UInt(bitPattern: chunk) & ~UInt(MemoryRegion.bytes - 1)
    guard let bytes = regions[key]?.chunkBytes else { return false }
    if regions[key]!.isFull { open[bytes]!.append(key) }
    regions[key]!.deallocate(chunk)
    if regions[key]!.live == 0, !keepingOne || open[bytes]!.count > 1 {
      regions.removeValue(forKey: key)!.base.deallocate()
      open[bytes]!.remove(at: open[bytes]!.firstIndex(of: key)!)
    }
    return true
  }
}

/// Memory of 2 MiB, cut into chunks of one size.
struct MemoryRegion {
  static let bytes = 2 << 20

  let base: UnsafeMutableRawPointer
  let chunkBytes: Int
  /// Chunks handed out at least once.
  private var fresh = 0
  private(set) var live = 0
  private var free: [UnsafeMutableRawPointer] = []

  init(chunkBytes: Int, base: UnsafeMutableRawPointer) {
    self.chunkBytes = chunkBytes
    self.base = base
  }

  var isFull: Bool { live == Self.bytes / chunkBytes }

  /// The region must have room.
  mutating func allocate() -> UnsafeMutableRawPointer {
    live += 1
    if let recycled = free.popLast() { return recycled }
    fresh += 1
    return base + (fresh - 1) * chunkBytes
  }

  mutating func deallocate(_ chunk: UnsafeMutableRawPointer) {
    live -= 1
    free.append(chunk)
  }
}
