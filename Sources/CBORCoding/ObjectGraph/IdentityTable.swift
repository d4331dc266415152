#if !canImport(Darwin)
  /// The objects that an archiver has met, and where it wrote them.
  ///
  /// It keeps them: the address of an object that goes away is soon that of another one.
  struct IdentityTable {
    struct Entry {
      let object: AnyObject
      /// How many levels of objects are in it, once it is written.
      var levels: Int32 = 0
      /// Where its item begins; -1: so far it was encoded conditionally only.
      var offset: Int
      /// Whether something refers to it.
      var isReferenced = false
      /// Whether it was encoded conditionally first.
      let isLate: Bool
    }

    private(set) var entries: ContiguousArray<Entry> = []
    /// Numbers of entries, plus one, by the address of their object; empty while there are few.
    private var slots: ContiguousArray<Int> = []
    /// Entries that were there before their object was written: their offsets are not in the order of the entries.
    private var late: [Int] = []

    private static let few = 8

    /// The number of an object's entry.
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

    /// Adds an object that is not there; returns the number of its entry.
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

    /// Says where an object is that was encoded conditionally before.
    mutating func setOffset(_ offset: Int, of index: Int) {
      entries[index].offset = offset
      late.append(index)
    }

    @inline(__always)
    mutating func setLevels(_ levels: Int, of index: Int) { entries[index].levels = Int32(truncatingIfNeeded: levels) }

    mutating func refer(to index: Int) { entries[index].isReferenced = true }

    /// Lets go of all objects, and keeps the memory.
    mutating func removeAll() {
      entries.removeAll(keepingCapacity: true)
      if !slots.isEmpty { slots = [] }
      if !late.isEmpty { late = [] }
    }

    /// The bytes from `offset` on have moved.
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
