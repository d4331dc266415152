/// An efficient LRU: a dictionary into an array of entries that form a doubly linked list.
struct LRU<Key: Hashable, Value> {
  fileprivate struct Entry {
    var key: Key
    var value: Value
    var newer: Int32
    var older: Int32
  }

  private var places: [Key: Int32] = [:]
  private var entries: [Entry] = []
  private var newest: Int32 = -1
  private var oldest: Int32 = -1
  /// Free positions in `entries`.
  private var free: [Int32] = []
  private let capacity: Int

  /// - Parameter capacity: The most entries to hold, at least 1.
  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  mutating func value(forKey key: Key) -> Value? {
    guard let place = places[key] else { return nil }
    moveToFront(place)
    return entries[Int(place)].value
  }

  mutating func set(_ value: Value, forKey key: Key) {
    if let place = places[key] {
      entries[Int(place)].value = value
      moveToFront(place)
    } else if let place = free.popLast() {
      places[key] = place
      entries[Int(place)].key = key
      entries[Int(place)].value = value
      pushFront(place)
    } else if entries.count < capacity {
      let place = Int32(entries.count)
      places[key] = place
      entries.append(Entry(key: key, value: value, newer: -1, older: -1))
      pushFront(place)
    } else {
      let place = oldest
      unlink(place)
      places.removeValue(forKey: entries[Int(place)].key)
      places[key] = place
      entries[Int(place)].key = key
      entries[Int(place)].value = value
      pushFront(place)
    }
  }

  /// Removes the least recently used entry; nil if empty.
  mutating func removeOldest() -> (key: Key, value: Value)? {
    if oldest < 0 { return nil }
    let place = oldest
    unlink(place)
    let entry = entries[Int(place)]
    places.removeValue(forKey: entry.key)
    free.append(place)
    return (entry.key, entry.value)
  }

  private mutating func moveToFront(_ place: Int32) {
    if place == newest { return }
    unlink(place)
    pushFront(place)
  }

  private mutating func unlink(_ place: Int32) {
    let (newer, older) = (entries[Int(place)].newer, entries[Int(place)].older)
    if newer >= 0 { entries[Int(newer)].older = older } else { newest = older }
    if older >= 0 { entries[Int(older)].newer = newer } else { oldest = newer }
  }

  private mutating func pushFront(_ place: Int32) {
    entries[Int(place)].newer = -1
    entries[Int(place)].older = newest
    if newest >= 0 { entries[Int(newest)].newer = place } else { oldest = place }
    newest = place
  }
}

extension LRU: Sendable where Key: Sendable, Value: Sendable {}
extension LRU.Entry: Sendable where Key: Sendable, Value: Sendable {}
