#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Memory for a store's chunks of slots.
///
/// The first megabyte comes from the allocator, chunk by chunk, so that a small cache is small. What comes after is cut
/// from regions of 2 MiB that the kernel may back by huge pages: in a large cache nearly every hit would otherwise miss
/// the processor's address cache as well. A region none of whose chunks is in use is given back, but for one.
@usableFromInline
final class MemoryArena: @unchecked Sendable {
  // Unchecked: everything mutable is used under the lock.

  private struct Region {
    let base: UnsafeMutableRawPointer
    var fresh = 0
    var live = 0
    var free: [UnsafeMutableRawPointer] = []
  }

  private static let regionBytes = 2 << 20
  private static let smallBytes = 1 << 20

  private let lock = ShortLock()
  private let chunkBytes: Int
  private let perRegion: Int
  private var small = 0
  private var regions: [UInt: Region] = [:]
  /// Regions with room, the one to use next last.
  private var open: [UInt] = []

  init(chunkBytes: Int) {
    // Whole cache lines, so that entries that divide a line never straddle two.
    self.chunkBytes = (chunkBytes + 63) & ~63
    perRegion = Self.regionBytes / self.chunkBytes
  }

  deinit {
    for region in regions.values { region.base.deallocate() }
  }

  @usableFromInline
  func allocate() -> UnsafeMutableRawPointer {
    lock.lock()
    defer { lock.unlock() }
    guard perRegion > 1, small >= Self.smallBytes else {
      small += chunkBytes
      return .allocate(byteCount: chunkBytes, alignment: 64)
    }
    if open.isEmpty {
      let base = UnsafeMutableRawPointer.allocate(byteCount: Self.regionBytes, alignment: Self.regionBytes)
      #if os(Linux)
        madvise(base, Self.regionBytes, MADV_HUGEPAGE)
      #endif
      regions[UInt(bitPattern: base)] = Region(base: base)
      open.append(UInt(bitPattern: base))
    }
    let key = open[open.count - 1]
    let chunk: UnsafeMutableRawPointer
    if let recycled = regions[key]!.free.popLast() {
      chunk = recycled
    } else {
      chunk = regions[key]!.base + regions[key]!.fresh * chunkBytes
      regions[key]!.fresh += 1
    }
    regions[key]!.live += 1
    if regions[key]!.live == perRegion { open.removeLast() }
    return chunk
  }

  @usableFromInline
  func deallocate(_ chunk: UnsafeMutableRawPointer) {
    lock.lock()
    defer { lock.unlock() }
    let key = UInt(bitPattern: chunk) & ~UInt(Self.regionBytes - 1)
    guard regions[key] != nil else {
      small -= chunkBytes
      return chunk.deallocate()
    }
    if regions[key]!.live == perRegion { open.append(key) }
    regions[key]!.live -= 1
    regions[key]!.free.append(chunk)
    if regions[key]!.live == 0, open.count > 1 {
      regions.removeValue(forKey: key)!.base.deallocate()
      open.remove(at: open.firstIndex(of: key)!)
    }
  }
}
