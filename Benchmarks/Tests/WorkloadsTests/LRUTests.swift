import Testing

@testable import Workloads

/// The peer that is held against the memory tier is a right one.
@Suite struct LRUTests {
  @Test func evictsTheLeastRecentlyUsed() {
    var cache = LRU<Int, String>(capacity: 2)
    cache.set("a", forKey: 1)
    cache.set("b", forKey: 2)
    #expect(cache.value(forKey: 1) == "a")
    cache.set("c", forKey: 3)
    #expect(cache.value(forKey: 2) == nil)
    #expect(cache.value(forKey: 1) == "a")
    cache.set("d", forKey: 1)
    cache.set("e", forKey: 4)
    #expect(cache.value(forKey: 3) == nil)
    #expect(cache.value(forKey: 1) == "d")
    #expect(cache.value(forKey: 4) == "e")
  }

  @Test(arguments: [1, 3, 20]) func doesWhatAListDoes(_ capacity: Int) {
    var random = SplitMix(state: 21)
    var cache = LRU<Int, Int>(capacity: capacity)
    var list: [(key: Int, value: Int)] = []
    for step in 0..<5000 {
      let key = Int.random(in: 0..<40, using: &random)
      let place = list.firstIndex { $0.key == key }
      if random.next() % 16 == 0 {
        let removed = cache.removeOldest()
        #expect(removed?.key == list.first?.key && removed?.value == list.first?.value)
        if !list.isEmpty { list.removeFirst() }
      } else if Bool.random(using: &random) {
        #expect(cache.value(forKey: key) == place.map { list[$0].value })
        if let place { list.append(list.remove(at: place)) }
      } else {
        cache.set(step, forKey: key)
        if let place { list.remove(at: place) } else if list.count == capacity { list.removeFirst() }
        list.append((key, step))
      }
    }
  }
}
