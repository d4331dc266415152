import CPlatform
import Synchronization

/// Recent key locations: the slot that the path to a key takes in each page of the tree, by the key's hash.
///
/// A hint may be stale or from another file: a lookup follows it from the root of a snapshot and compares the key at
/// the end, so a wrong hint costs time only and is replaced later. Hints therefore need no invalidation.
///
/// A hint is one word: 11 bits of the hash; the entry's position in the leaf in 512ths of a page, for prefetching; and
/// four slots of 11 bits, the root's lowest. Eight hints share a cache line, and a key's hint is in one line. The table
/// starts with a page of memory and grows with the lookups, up to 8 MiB.
///
/// Threads: any. Words are read and written whole, in no order.
struct PathHints: ~Copyable {
  /// The most levels a tree may have for its paths to be kept.
  static let levels = 4
  static let slotBits: UInt64 = 11
  static let pathBits: UInt64 = 44
  static let offsetUnits = 512
  private static let tagShift: UInt64 = 53

  private static let ways = 8
  private static let lineSize = 64
  private static let fewestLines = 64
  private static let mostLines = 1 << 17

  /// The address of the first line, reserved for the largest table; 0 until the first hint is kept. Unused lines take
  /// no memory.
  private let base = Atomic<UInt>(0)
  /// The allocation; `base` is aligned within it.
  private let allocation = Atomic<UInt>(0)
  /// Lines in use minus one: a power of two minus one.
  private let mask = Atomic<UInt64>(UInt64(fewestLines - 1))
  /// Hints evicted since the table grew.
  private let evictions = Atomic<UInt64>(0)

  deinit { unsafe free(UnsafeMutableRawPointer(bitPattern: allocation.load(ordering: .relaxed))) }

  /// Eight hints of one cache line.
  // @safe: a line of the table, which outlives every lookup and is larger than any mask.
  @safe private struct Line {
    private let hints: UnsafeMutablePointer<Atomic<UInt64>>

    @inline(__always)
    init(at address: UInt) { unsafe hints = UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped }

    @inline(__always)
    subscript(way: Int) -> UInt64 {
      get { unsafe hints[way & (PathHints.ways - 1)].load(ordering: .relaxed) }
      nonmutating set { unsafe hints[way & (PathHints.ways - 1)].store(newValue, ordering: .relaxed) }
    }

    @inline(__always)
    func prefetch() { unsafe cplatform_prefetch(hints) }
  }

  @inline(__always)
  private func line(_ hash: UInt64) -> Line? { line(hash, mask.load(ordering: .relaxed)) }

  @inline(__always)
  private func line(_ hash: UInt64, _ mask: UInt64) -> Line? {
    let base = base.load(ordering: .acquiring)
    return base == 0 ? nil : Line(at: base + UInt(truncatingIfNeeded: hash & mask) &* UInt(Self.lineSize))
  }

  /// Prefetches the line that ``path(_:)`` will read.
  @inline(__always)
  func prefetch(_ hash: UInt64) { line(hash)?.prefetch() }

  /// The path for this hash, with the position in the leaf above it, or `nil` if unknown.
  @inline(__always)
  func path(_ hash: UInt64) -> UInt64? {
    // Loaded once: the table may grow during the call, and the code below would step out of it.
    let mask = mask.load(ordering: .relaxed)
    guard let line = line(hash, mask) else { return nil }
    return Self.path(hash, in: line) ?? pathBeforeGrowth(hash, mask)
  }

  @inline(__always)
  private static func path(_ hash: UInt64, in line: Line) -> UInt64? {
    for way in 0..<ways {
      let hint = line[way]
      if (hint ^ hash) >> tagShift == 0, hint != 0 { return hint & (1 << tagShift - 1) }
    }
    return nil
  }

  /// Looks for the key's line at its place in a table of half the size.
  @inline(never)
  private func pathBeforeGrowth(_ hash: UInt64, _ mask: UInt64) -> UInt64? {
    guard mask >= UInt64(Self.fewestLines), hash & (mask + 1) >> 1 != 0, let line = line(hash, mask >> 1),
      let path = Self.path(hash, in: line)
    else { return nil }
    keep(path, hash)
    return path
  }

  /// Stores the path to a key.
  func keep(_ path: UInt64, _ hash: UInt64) {
    guard let line = line(hash) ?? allocate(hash) else { return }
    let hint = (hash >> Self.tagShift) << Self.tagShift | path
    // Prefer the key's own older hint, then a free place, then any.
    var place: Int?
    for way in 0..<Self.ways {
      let known = line[way]
      if known != 0, (known ^ hash) >> Self.tagShift == 0 {
        if known != hint { line[way] = hint }
        return
      }
      if known == 0, place == nil { place = way }
    }
    if place == nil { noteEviction() }
    line[place ?? Int(truncatingIfNeeded: hash >> 32)] = hint
  }

  /// Doubles the table once a thirty-second of it was evicted. A hint whose line moved is found at its old place and
  /// kept at the new one.
  private func noteEviction() {
    let lines = mask.load(ordering: .relaxed) + 1
    guard lines < Self.mostLines, evictions.add(1, ordering: .relaxed).newValue >= lines / 4 else { return }
    evictions.store(0, ordering: .relaxed)
    _ = mask.compareExchange(expected: lines - 1, desired: 2 * lines - 1, ordering: .relaxed)
  }

  @inline(never)
  private func allocate(_ hash: UInt64) -> Line? {
    // The system provides zeroed pages on first touch.
    let memory = unsafe calloc(1, (Self.mostLines + 1) * Self.lineSize)
    let address = UInt(bitPattern: memory)
    guard address != 0 else { return nil }
    if allocation.compareExchange(expected: 0, desired: address, ordering: .relaxed).exchanged {
      base.store((address + UInt(Self.lineSize - 1)) & ~UInt(Self.lineSize - 1), ordering: .releasing)
    } else {
      unsafe free(memory)
    }
    return line(hash)
  }

  /// The number of hints the table can hold now.
  var capacity: Int { Int(mask.load(ordering: .relaxed) + 1) * Self.ways }
}
