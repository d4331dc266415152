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
