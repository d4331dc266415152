import TestSupport
import Testing

@testable import LMDBCaching

/// The table alone: clusters, closing gaps, growing and shrinking.
@Suite struct MemoryTableTests {
  typealias Table = MemoryTable<Int, String>

  /// The invariant: each entry is reachable from its home without crossing an empty slot.
  static func check(_ table: Table, _ model: [UInt32: (tag: UInt32, value: String)], _ note: String) {
    var found = 0
    for place in 0..<table.capacity where table.word(place).pointee != 0 {
      let slot = table.slot(at: place)
      found += 1
      guard let (tag, value) = model[slot] else {
        Issue.record("\(note): slot \(slot) is not in the model")
        continue
      }
      if table.entry(at: place).pointee.value != value { Issue.record("\(note): another value in slot \(slot)") }
      if UInt32(truncatingIfNeeded: table.word(place).pointee >> 32) != tag {
        Issue.record("\(note): tag of slot \(slot)")
      }
      var probe = table.home(of: tag)
      while probe != place {
        if table.word(probe).pointee == 0 {
          Issue.record("\(note): a gap before slot \(slot)")
          break
        }
        probe = table.next(probe)
      }
    }
    #expect(found == model.count, "\(note)")
  }

  /// Tags are drawn from a few clusters, one across the table's end, so gaps and wraps are common.
  @Test(arguments: UInt64(1)...16) func agreesWithADictionary(seed: UInt64) {
    var random = SeededRandom(seed)
    let arena = MemoryArena(chunkBytes: 64)
    var table = Table(capacityLog2: Table.smallestLog2, arena: arena)
    var model: [UInt32: (tag: UInt32, value: String)] = [:]
    var nextSlot: UInt32 = 0
    let homes: [UInt32] = [0, 1, 0x4000_0000, 0xFFFF_FFFF, 0xF800_0000]
    for step in 0..<3_000 {
      let isGrowing = step / 500 % 2 == 0
      if random.next() % 10 < (isGrowing ? 7 : 3) {
        if table.isFull(model.count) {
          table.resize(toLog2: table.capacityLog2 + 1, arena: arena)
        }
        let near = UInt32(truncatingIfNeeded: random.next() % 64) << 22
        let tag = homes[random.below(homes.count)] &+ (random.next() % 2 == 0 ? near : 0)
        let place = table.insert(nextSlot, tag: tag)
        let value = "a value too long to be kept in place \(step)"
        table.entry(at: place).initialize(
          to: .init(
            key: step, value: value, accessed: 0, use: MemoryUse(generation: 0), isMain: false, hasExpiry: false,
            hasCost: false))
        model[nextSlot] = (tag, value)
        nextSlot += 1
      } else if let (slot, entry) = model.randomElement(using: &random) {
        let place = table.place(of: slot, tag: entry.tag)
        #expect(table.entry(at: place).move().value == entry.value)
        table.remove(at: place)
        model[slot] = nil
        if model.count * 4 < table.capacity, table.capacityLog2 > Table.smallestLog2 {
          table.resize(toLog2: table.capacityLog2 - 1, arena: arena)
        }
      }
      if step % 10 == 0 { Self.check(table, model, "seed \(seed), step \(step)") }
    }
    for place in 0..<table.capacity where table.word(place).pointee != 0 { _ = table.entry(at: place).move() }
    table.deallocate(arena: arena)
  }

  struct Clash: Hashable, Sendable {
    let number: Int
    func hash(into hasher: inout Hasher) {}
  }

  @Test func keysOfOneHashAreToldApart() {
    let cache = MemoryCache<Clash, Int>()
    for number in 0..<500 { cache.set(number, forKey: Clash(number: number)) }
    for number in stride(from: 0, to: 500, by: 3) {
      #expect(cache.removeValue(forKey: Clash(number: number)) == number)
    }
    for number in 0..<500 {
      #expect(cache.value(forKey: Clash(number: number)) == (number % 3 == 0 ? nil : number))
    }
    cache.trim(to: .count(10))
    #expect(cache.count == 10)
    #expect((0..<500).filter { cache.contains(Clash(number: $0)) }.count == 10)
  }
}
