/// Copies of short values in one growing block of memory. Growth invalidates returned bytes.
struct GroupBytes: ~Copyable {
  struct Place {
    fileprivate let start: Int
    fileprivate let count: Int
  }

  private static let alignment = 16
  private var memory: UnsafeMutableRawBufferPointer
  private var count = 0

  init(capacity: Int) {
    memory = .allocate(byteCount: max(Self.alignment, capacity), alignment: Self.alignment)
  }

  deinit { memory.deallocate() }

  /// Copies a value, aligned as on the stack.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Place {
    if bytes.count > memory.count - count { grow(by: bytes.count) }
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    let place = Place(start: count, count: bytes.count)
    count = min(memory.count, (count + bytes.count + Self.alignment - 1) & ~(Self.alignment - 1))
    return place
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    let grown = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(2 * memory.count, count + more), alignment: Self.alignment)
    grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = grown
  }

  @inline(__always)
  subscript(_ place: Place) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[place.start..<(place.start + place.count)])
  }
}
