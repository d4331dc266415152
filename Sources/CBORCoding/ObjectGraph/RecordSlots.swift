#if !canImport(Darwin)
  import Synchronization

  /// An open-addressing hash table of records for one writer and concurrent readers.
  ///
  /// Two words, capacity and count, then slots that change from nil to a record once. Never freed.
  struct RecordSlots {
    let base: UnsafeRawPointer

    private typealias Slot = Atomic<UnsafeRawPointer?>

    init(_ base: UnsafeRawPointer) { self.base = base }

    static func make(capacity: Int) -> UnsafeMutableRawPointer {
      let header = 2 * MemoryLayout<Int>.stride
      let bytes = header + capacity * MemoryLayout<Slot>.stride
      let base = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
      base.storeBytes(of: capacity, as: Int.self)
      base.storeBytes(of: 0, toByteOffset: MemoryLayout<Int>.stride, as: Int.self)
      let slots = (base + header).bindMemory(to: Slot.self, capacity: capacity)
      for index in 0..<capacity { (slots + index).initialize(to: Slot(nil)) }
      return base
    }

    @inline(__always) private var capacity: Int { base.load(as: Int.self) }
    private var count: Int { base.load(fromByteOffset: MemoryLayout<Int>.stride, as: Int.self) }
    @inline(__always) private var slots: UnsafePointer<Slot> {
      (base + 2 * MemoryLayout<Int>.stride).assumingMemoryBound(to: Slot.self)
    }

    /// Limits the load to one half, to keep lookups short.
    var isFull: Bool { count * 2 >= capacity }

    @inline(__always)
    func find(hash: Int, where matches: (ClassRecord.Reference) -> Bool) -> ClassRecord.Reference? {
      let mask = capacity &- 1
      var index = hash & mask
      while let found = slots[index].load(ordering: .acquiring) {
        let record = found.assumingMemoryBound(to: ClassRecord.self)
        if matches(record) { return record }
        index = (index &+ 1) & mask
      }
      return nil
    }

    /// For the writer only; the table must not be full.
    func insert(_ record: ClassRecord.Reference, hash: Int) {
      let mask = capacity - 1
      var index = hash & mask
      while slots[index].load(ordering: .relaxed) != nil { index = (index + 1) & mask }
      slots[index].store(UnsafeRawPointer(record), ordering: .releasing)
      UnsafeMutableRawPointer(mutating: base)
        .storeBytes(of: count + 1, toByteOffset: MemoryLayout<Int>.stride, as: Int.self)
    }

    /// A table of twice the size with the same records.
    func grown(_ hash: (ClassRecord.Reference) -> Int) -> RecordSlots {
      let grown = RecordSlots(UnsafeRawPointer(Self.make(capacity: capacity * 2)))
      for index in 0..<capacity {
        guard let found = slots[index].load(ordering: .relaxed) else { continue }
        let record = found.assumingMemoryBound(to: ClassRecord.self)
        grown.insert(record, hash: hash(record))
      }
      return grown
    }
  }
#endif
