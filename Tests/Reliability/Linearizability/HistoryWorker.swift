import Foundation
import LMDBCaching
import TestSupport

struct HistoryWorker {
  private let load: SharedLoad
  private let thread: Int
  private let cache: LMDBCache
  private let buffer: HistoryBuffer
  private var random: SeededRandom
  private var counter: UInt64 = 0
  private var group: UInt32 = 0

  init(_ load: SharedLoad, _ thread: Int, _ cache: LMDBCache, _ buffer: HistoryBuffer) {
    self.load = load
    self.thread = thread
    self.cache = cache
    self.buffer = buffer
    random = SeededRandom(load.seed &+ UInt64(load.process * 16 + thread) &* 0x9E37_79B9)
  }

  /// The length of a list that goes to the value log.
  private static let longCount = 1_200

  private static var now: Int64 { CacheClock.system.monotonic }

  /// Unique in the history, and never 0.
  private mutating func newValue() -> Int {
    counter += 1
    return Int(UInt64(load.process + 1) << 56 | UInt64(thread) << 48 | counter)
  }

  private mutating func key() -> Int {
    switch random.below(100) {
    case 0: SharedLoad.file
    case 1..<8: SharedLoad.list
    default: random.below(SharedLoad.plain.count)
    }
  }

  mutating func step() throws {
    switch random.below(1_000) {
    case 0..<80: try set()
    case 80..<95: try remove()
    case 95..<99: try writePair()
    case 99..<110: try readPair()
    case 112..<130: try update()
    case 130..<134: try compareAndSet()
    case 134..<140: try useBox()
    case 140..<150: try useTag()
    case 150..<154: try moveExpiry()
    case 110..<112: usleep(UInt32(random.below(3_000)))
    default: try read()
    }
  }

  private func record(
    _ kind: HistoryRecord.Kind, _ key: Int, _ value: Int, previous: Int = 0, from start: Int64,
    isCommitted: Bool = false, group: UInt32 = 0
  ) {
    buffer.append(
      HistoryRecord(
        kind, key: key, value: UInt64(value), previous: UInt64(previous), process: load.process, thread: thread,
        start: start, end: Self.now,
        isCommitted: isCommitted || load.durability == Durability.full.rawValue, group: group))
  }

  private mutating func set() throws {
    let (key, value) = (key(), newValue())
    let start = Self.now
    switch key {
    case SharedLoad.list: try cache.set([Int](repeating: value, count: 300), forKey: SharedLoad.names[key])
    case SharedLoad.file: try cache.set([Int](repeating: value, count: 2_000), forKey: SharedLoad.names[key])
    default:
      switch random.below(8) {
      case 0...1: try cache.withoutMemory.set(value, forKey: SharedLoad.names[key])
      case 2: try cache.set(value, forKey: SharedLoad.names[key], expires: .unchanged)
      default: try cache.set(value, forKey: SharedLoad.names[key])
      }
    }
    record(.set, key, value, from: start)
  }

  // MARK: Operations that depend on what is there

  /// An update, unless another one comes in between.
  private mutating func compareAndSet() throws {
    let (key, value) = (SharedLoad.cell, newValue())
    let name = SharedLoad.names[key]
    let start = Self.now
    // Read the version first: the value is then at least as new, or the set is refused.
    guard let entry = try cache.entry(forKey: name), let previous = try cache.value(Int.self, forKey: name) else {
      return
    }
    let isStored =
      random.below(2) == 0
      ? try cache.set(value, forKey: name, expires: .unchanged, if: .version(entry.version))
      : try cache.withoutMemory.set(value, forKey: name, if: .version(entry.version))
    if isStored { record(.update, key, value, previous: previous, from: start) }
  }

  private mutating func useBox() throws {
    let name = SharedLoad.names[SharedLoad.box]
    let start = Self.now
    if random.below(2) == 0 {
      let value = newValue()
      let isStored = try cache.set(value, forKey: name, expires: .after(.seconds(86_400)), if: .absent)
      record(.put, SharedLoad.box, isStored ? value : 0, from: start)
    } else {
      let value = try cache.removeValue(Int.self, forKey: name)
      record(.take, SharedLoad.box, value ?? 0, from: start)
    }
  }

  private mutating func useTag() throws {
    let key = SharedLoad.tagged
    switch random.below(8) {
    case 0...3:
      let value = newValue()
      let start = Self.now
      try cache.set(value, forKey: SharedLoad.names[key], tags: [SharedLoad.tag, "another"])
      record(.set, key, value, from: start)
    case 4:
      let start = Self.now
      try cache.removeAll(.tag(SharedLoad.tag))
      record(.remove, key, 0, from: start)
    default:
      let start = Self.now
      let value = try cache.value(Int.self, forKey: SharedLoad.names[key]) ?? 0
      record(.read, key, value, from: start)
    }
  }

  /// No reader may see a wrong or older value because its expiry moved.
  private mutating func moveExpiry() throws {
    let key = random.below(2) == 0 ? SharedLoad.cell : key()
    let name = SharedLoad.names[key]
    switch random.below(3) {
    case 0: try cache.touch(forKey: name, expires: .after(.seconds(86_400 + random.below(1_000))))
    case 1: try cache.touch(forKey: name, expires: .never)
    default:
      guard key != SharedLoad.list, key != SharedLoad.file else { return }
      let start = Self.now
      let value = try cache.value(Int.self, forKey: name, expires: .sliding(.seconds(100_000))) ?? 0
      record(.read, key, value, from: start)
    }
  }

  private mutating func update() throws {
    let key = [SharedLoad.cell, SharedLoad.longCell, SharedLoad.counter].randomElement(using: &random)!
    let name = SharedLoad.names[key]
    var value = newValue()
    var previous = 0
    let start = Self.now
    switch key {
    case SharedLoad.counter:
      value = try cache.increment(forKey: name)
      previous = value - 1
    case SharedLoad.longCell:
      try cache.update([Int].self, forKey: name) { list in
        previous = list?.first ?? 0
        list = [Int](repeating: value, count: Self.longCount)
      }
    default:
      if random.below(2) == 0 {
        previous = try cache.exchange(value, forKey: name) ?? 0
      } else {
        try cache.withoutMemory.update(Int.self, forKey: name) { number in
          previous = number ?? 0
          number = value
        }
      }
    }
    record(.update, key, value, previous: previous, from: start)
  }

  private mutating func remove() throws {
    // The file's key is never removed, so every read must find it.
    let key = random.below(SharedLoad.file)
    let start = Self.now
    try cache.removeValue(forKey: SharedLoad.names[key])
    record(.remove, key, 0, from: start)
  }

  private mutating func read() throws {
    let key =
      switch random.below(20) {
      case 0: SharedLoad.pairs.randomElement(using: &random)!
      case 1: SharedLoad.cell
      case 2: SharedLoad.longCell
      case 3 where random.below(3) == 0: SharedLoad.longPair + random.below(2)
      default: key()
      }
    let name = SharedLoad.names[key]
    let start = Self.now
    var value = 0
    switch (key, random.below(10)) {
    case (SharedLoad.list, _): value = try whole(cache.value([Int].self, forKey: name), 300)
    case (SharedLoad.longCell, _), (SharedLoad.longPair..., _):
      value = try whole(cache.value([Int].self, forKey: name), Self.longCount)
    case (SharedLoad.file, _): value = try whole(cache.value([Int].self, forKey: name), 2_000)
    case (_, 0): value = try cache.withoutMemory.value(Int.self, forKey: name) ?? 0
    case (_, 1):
      value = try cache.withBytes(forKey: name) { $0.unsafeLoadUnaligned(as: Int.self) } ?? 0
    case (_, 2):
      // Forces a reload from the disk while others write.
      if random.below(20) == 0 { cache.memory.removeAll() }
      value = try cache.value(Int.self, forKey: name) ?? 0
    default: value = try cache.value(Int.self, forKey: name) ?? 0
    }
    record(.read, key, value, from: start)
  }

  private func whole(_ list: [Int]?, _ count: Int) throws -> Int {
    guard let list else { return 0 }
    // Mixed numbers mean a torn read.
    guard list.count == count, list.allSatisfy({ $0 == list[0] }) else { return Int.max }
    return list[0]
  }

  private mutating func pair() -> Int {
    random.below(3) == 0 ? SharedLoad.longPair : SharedLoad.pairs.randomElement(using: &random)!
  }

  private mutating func writePair() throws {
    let key = pair()
    let isLarge = key == SharedLoad.longPair && random.below(2) == 0
    let isRemoval = random.below(5) == 0
    let value = isRemoval ? 0 : newValue()
    let names = [SharedLoad.names[key], SharedLoad.names[key + 1]]
    let waits = random.below(2) == 0
    group += 1
    let start = Self.now
    try cache.write(waitsForCommit: waits) { batch in
      for name in names {
        if isRemoval {
          batch.removeValue(forKey: name)
        } else if key == SharedLoad.longPair {
          batch.set([Int](repeating: value, count: Self.longCount), forKey: name)
        } else {
          batch.set(value, forKey: name)
        }
      }
      if isLarge { for name in SharedLoad.fillers { batch.set([Int](repeating: value, count: 140), forKey: name) } }
    }
    for key in [key, key + 1] {
      record(isRemoval ? .remove : .set, key, value, from: start, isCommitted: waits, group: group)
    }
  }

  private mutating func readPair() throws {
    let key = pair()
    group += 1
    let start = Self.now
    let (first, second) = try cache.read { snapshot in
      if key == SharedLoad.longPair {
        return (
          try whole(snapshot.value([Int].self, forKey: SharedLoad.names[key]), Self.longCount),
          try whole(snapshot.value([Int].self, forKey: SharedLoad.names[key + 1]), Self.longCount)
        )
      }
      return (
        try snapshot.value(Int.self, forKey: SharedLoad.names[key]) ?? 0,
        try snapshot.value(Int.self, forKey: SharedLoad.names[key + 1]) ?? 0
      )
    }
    record(.read, key, first, from: start, group: group)
    record(.read, key + 1, second, from: start, group: group)
  }
}
