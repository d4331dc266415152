#if !canImport(Darwin)
  /// The objects that an archiver has met, and their offsets.
  ///
  /// Retains the objects, as a freed object's address is soon reused.
  struct IdentityTable {
    struct Entry {
      let object: AnyObject
      /// Levels of objects inside it, once written.
      var levels: Int32 = 0
      /// Its item's offset; -1 while only encoded conditionally.
      var offset: Int
      var isReferenced = false
      /// Whether it was first encoded conditionally.
      let isLate: Bool
    }

    private(set) var entries: ContiguousArray<Entry> = []
    /// Entry numbers plus one, by object address; empty for few entries.
    private var slots: ContiguousArray<Int> = []
    /// Entries added before their object was written: their offsets are out of order.
    private var late: [Int] = []

    private static let few = 8

    @inline(__always)
    func find(_ object: AnyObject) -> Int? {
      if slots.isEmpty {
        for index in entries.indices where entries[index].object === object { return index }
        return nil
      }
      let mask = slots.count &- 1
      var slot = Self.hash(object) & mask
      while case let number = slots[slot], number != 0 {
        if entries[number &- 1].object === object { return number &- 1 }
        slot = (slot &+ 1) & mask
      }
      return nil
    }

    /// Adds a new object. Returns its entry's number.
    @inline(__always)
    @discardableResult
    mutating func add(_ object: AnyObject, offset: Int) -> Int {
      entries.append(Entry(object: object, offset: offset, isLate: offset < 0))
      if entries.count > Self.few { addSlot() }
      return entries.count &- 1
    }

    private mutating func addSlot() {
      if entries.count * 2 > slots.count {
        slots = ContiguousArray(repeating: 0, count: max(slots.count * 2, Self.few * 4))
        for index in entries.indices { fill(index) }
      } else {
        fill(entries.count - 1)
      }
    }

    private mutating func fill(_ index: Int) {
      let mask = slots.count &- 1
      var slot = Self.hash(entries[index].object) & mask
      while slots[slot] != 0 { slot = (slot &+ 1) & mask }
      slots[slot] = index + 1
    }

    /// Records the offset of an object that was encoded conditionally before.
    mutating func setOffset(_ offset: Int, of index: Int) {
      entries[index].offset = offset
      late.append(index)
    }

    @inline(__always)
    mutating func setLevels(_ levels: Int, of index: Int) { entries[index].levels = Int32(truncatingIfNeeded: levels) }

    mutating func refer(to index: Int) { entries[index].isReferenced = true }

    /// Releases all objects but keeps the memory.
    mutating func removeAll() {
      entries.removeAll(keepingCapacity: true)
      if !slots.isEmpty { slots = [] }
      if !late.isEmpty { late = [] }
    }

    /// Adjusts offsets after bytes from `offset` were moved.
    mutating func shift(by distance: Int, from offset: Int) {
      for index in late where entries[index].offset >= offset { entries[index].offset += distance }
      for index in entries.indices.reversed() where !entries[index].isLate {
        guard entries[index].offset >= offset else { return }
        entries[index].offset += distance
      }
    }

    @inline(__always)
    private static func hash(_ object: AnyObject) -> Int {
      let product = UInt(bitPattern: ObjectIdentifier(object)) &* 0x9E37_79B9_7F4A_7C15
      return Int(truncatingIfNeeded: product >> 32)
    }
  }
#endif
