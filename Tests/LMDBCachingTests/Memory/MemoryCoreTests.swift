import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct MemoryCoreTests {
  typealias Core = MemoryCore<Int, String>

  /// A core and its expected content: the keys of its queues, the youngest first.
  struct Model: ~Copyable {
    let arena = MemoryArena(chunkBytes: MemorySlabs.slabBytes(keepsStamps: false))
    var core: Core
    var small: [Int] = []
    var main: [Int] = []

    init() { core = Core(mask: 0, arena: arena) }

    deinit {
      for place in 0..<core.table.capacity where core.table.word(place).pointee != 0 {
        _ = core.table.entry(at: place).move()
      }
      core.table.deallocate(arena: core.slabs.arena)
      core.slabs.deallocate()
      core.ghosts.deallocate()
    }

    /// Few home positions, so most deletions shift entries, across the table's end as well.
    func hash(_ key: Int) -> UInt64 {
      var random = SeededRandom(UInt64(key))
      return random.next() % 2 == 0 ? random.next() : 0xFFFF_FF00 | UInt64(key & 0xFF)
    }

    mutating func add(_ key: Int) {
      core.add(
        key, "a value too long to be kept in place \(key)", hash: hash(key), cost: Int64(key % 7), expires: .max,
        stamp: 0, validated: 0, accessed: 0, isMain: false)
      small.insert(key, at: 0)
    }

    mutating func remove(_ key: Int) -> String {
      small.removeAll { $0 == key }
      main.removeAll { $0 == key }
      return core.take(at: core.find(key, hash: hash(key))!).value
    }

    mutating func promote(_ key: Int) {
      let place = core.find(key, hash: hash(key))!
      core.moveToMain(core.table.slot(at: place), core.table.entry(at: place))
      small.removeAll { $0 == key }
      main.removeAll { $0 == key }
      main.insert(key, at: 0)
    }

    /// The keys from head to tail, or nil if the back links disagree.
    func keys(_ queue: MemoryQueue) -> [Int]? {
      var (keys, previous, slot) = ([Int](), MemoryDetails.none, queue.head)
      while slot != MemoryDetails.none {
        keys.append(core.entry(of: slot).pointee.key)
        if core.slabs.details(slot).pointee.previous != previous { return nil }
        (previous, slot) = (slot, core.slabs.details(slot).pointee.next)
      }
      return queue.tail == previous && queue.count == keys.count ? keys : nil
    }
  }

  @Test(arguments: UInt64(1)...12) func queuesKeepTheirOrderWhileEntriesMove(seed: UInt64) {
    var random = SeededRandom(seed)
    var model = Model()
    var next = 0
    for step in 0..<4_000 {
      let isGrowing = step / 1_000 % 2 == 0
      let all = model.small + model.main
      switch random.below(10) {
      case 0..<(isGrowing ? 6 : 2):
        model.add(next)
        next += 1
      case 6..<7:
        if let key = all.randomElement(using: &random) { model.promote(key) }
      case 7..<8:
        while model.core.compact() {}
        model.core.shrinkTable()
      default:
        if let key = all.randomElement(using: &random) {
          #expect(model.remove(key).hasSuffix(" \(key)"), "seed \(seed), step \(step)")
        }
      }
      guard step % 20 == 0 else { continue }
      #expect(model.keys(model.core.small) == model.small, "seed \(seed), step \(step)")
      #expect(model.keys(model.core.main) == model.main, "seed \(seed), step \(step)")
      let cost = (model.small + model.main).reduce(0) { $0 + Int64($1 % 7) }
      #expect(model.core.cost == cost, "seed \(seed), step \(step)")
    }
  }

  @Test func anEmptiedTableIsSmall() {
    let cache = MemoryCache<Int, Int>()
    for isTrimmed in [false, true] {
      for number in 0..<100_000 { cache.set(number, forKey: number) }
      #expect(cache.shard(0).pointee.core.table.capacity > 4_096)
      if isTrimmed {
        cache.trim(to: .count(100))
      } else {
        for number in 0..<100_000 { cache.removeValue(forKey: number) }
      }
      for number in 0..<MemoryCache<Int, Int>.shardCount {
        #expect(cache.shard(number).pointee.core.table.capacity <= 512)
      }
    }
  }
}
