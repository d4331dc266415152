import TestSupport
import Testing

@testable import LMDBCaching

/// Random operations against a dictionary: reads return the last value, and limits and counts hold after each step.
@Suite struct MemoryModelTests {
  struct Stored {
    var value: Int
    var cost: Int
    var expires: Int64
  }

  @Test(arguments: UInt64(1)...24) func agreesWithADictionary(seed: UInt64) {
    var random = SeededRandom(seed)
    let clock = ManualClock()
    let keys = Int(random.next() % 3_000) + 10
    let cache = MemoryCache<String, Int>(
      countLimit: random.next() % 2 == 0 ? .max : Int(random.next() % 500) + 1,
      costLimit: random.next() % 2 == 0 ? .max : Int(random.next() % 5_000) + 50, clock: .manual(clock))
    var model: [String: Stored] = [:]
    for step in 0..<6_000 {
      let key = "key \(random.next() % UInt64(keys))"
      switch random.next() % 20 {
      case 0..<9:
        let cost = Int(random.next() % 80)
        let seconds: Int64? = random.next() % 4 == 0 ? Int64(random.next() % 30) : nil
        cache.set(step, forKey: key, expiresIn: seconds.map { .seconds($0) }, cost: cost)
        model[key] = Stored(
          value: step, cost: cost, expires: seconds.map { clock.now + $0 * 1_000_000_000 } ?? .max)
      case 9..<16:
        check(cache.value(forKey: key), key, model, clock, seed)
      case 16:
        check(cache.removeValue(forKey: key), key, model, clock, seed)
        model[key] = nil
      case 17:
        clock.advance(by: .milliseconds(Int64(random.next() % 3_000)))
      case 18:
        if random.next() % 50 == 0 {
          cache.removeAll()
          model = [:]
        } else if random.next() % 10 == 0 {
          let limit = Int(random.next() % 200)
          cache.trim(to: .count(limit))
          #expect(cache.count <= limit, "seed \(seed), step \(step)")
          cache.trim(to: .cost(40 * limit))
          #expect(cache.totalCost <= 40 * limit, "seed \(seed), step \(step)")
        } else if random.next() % 10 == 0 {
          let suffix = "\(random.next() % 10)"
          cache.removeAll { $0.hasSuffix(suffix) }
          for key in model.keys where key.hasSuffix(suffix) { model[key] = nil }
        }
      default:
        if random.next() % 20 == 0 { cache.countLimit = Int(random.next() % 20_000) + 1 }
        if random.next() % 20 == 0 { cache.costLimit = Int(random.next() % 50_000) + 50 }
      }
      #expect(cache.count <= cache.countLimit, "seed \(seed), step \(step)")
      #expect(cache.totalCost <= cache.costLimit, "seed \(seed), step \(step)")
    }
    #expect(model.keys.count { cache.contains($0) } <= cache.count)
    cache.trim(to: .age(.seconds(0)))
    clock.advance(by: .seconds(1))
    cache.trim(to: .age(.milliseconds(500)))
    #expect(cache.count == 0 && cache.totalCost == 0, "seed \(seed)")
  }

  private func check(
    _ value: Int?, _ key: String, _ model: [String: Stored], _ clock: ManualClock, _ seed: UInt64
  ) {
    guard let value else { return }
    let stored = model[key]
    #expect(stored?.value == value, "seed \(seed), \(key)")
    #expect((stored?.expires ?? 0) > clock.now, "seed \(seed), \(key) expired")
  }
}
