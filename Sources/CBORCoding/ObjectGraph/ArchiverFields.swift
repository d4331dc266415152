#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedArchiver {
    /// Writes a field's key, which a value must follow. Returns `false` once encoding has ended.
    @inline(__always)
    func beginField(_ key: String) -> Bool {
      guard failure == nil, !isFinished else { return refuse() }
      keyOffsets.append(writer.count)
      writer.writeText(key)
      return true
    }

    func beginUnkeyedField() -> Bool {
      guard failure == nil, !isFinished else { return refuse() }
      keyOffsets.append(writer.count)
      writer.writeInteger(frame.unkeyedCount)
      frame.unkeyedCount += 1
      return true
    }

    private func refuse() -> Bool {
      if failure == nil { fail("A value was encoded after the end of encoding.") }
      return false
    }

    func fail(_ message: String) {
      guard failure == nil else { return }
      let place =
        buffers.path.isEmpty
        ? "" : " (in \(buffers.path.map { ClassDescription.name(of: $0) }.joined(separator: " → ")))"
      failure = CBORCodingError(.encodingFailed, message + place)
    }

    /// Runs `body`, which encodes an object's fields, and completes their map.
    @inline(__always)
    func writeFields(_ body: () -> Void) {
      let outer = frame
      let head = writer.count
      writer.writeMapHead(count: 0)
      frame = EncodingFrame(firstKey: keyOffsets.count)
      body()
      endFields(head)
      frame = outer
    }

    /// Fills in the count of a map with a one-byte head at `head`.
    @inline(__always)
    private func endFields(_ head: Int) {
      let count = keyOffsets.count &- frame.firstKey
      guard failure == nil else { return }
      if count > 1 { checkKeys() }
      let distance = writer.setHead(.map, count, at: head)
      if distance > 0 { shift(by: distance, after: head) }
      keyOffsets.removeLast(count)
    }

    /// Adjusts offsets to bytes that were moved.
    private func shift(by distance: Int, after head: Int) {
      identities.shift(by: distance, from: head + 1)
      for index in buffers.references.indices.reversed() {
        guard buffers.references[index].offset > head else { break }
        buffers.references[index].offset += distance
      }
    }

    /// Detects a class and its superclass using the same key, which would overwrite each other's value.
    @inline(__always)
    private func checkKeys() {
      let duplicate = writer.withBytes { bytes in
        MapKeys(bytes: bytes).duplicate(in: keyOffsets, from: frame.firstKey)
      }
      if let duplicate { failForKey(at: duplicate) }
    }

    private func failForKey(at offset: Int) {
      let key = writer.withBytes { bytes in
        var reader = CBORReader(bytes, at: offset)
        // The key was written by this archiver.
        return (try? reader.readText()) ?? ""
      }
      fail("The key \(key.quoted) is encoded twice in one object; a class and its superclass need keys of their own.")
    }

    // MARK: The end

    func finish() {
      guard !isFinished else { return }
      guard depth.current == 0 else { return fail("Encoding was finished while an object was being encoded.") }
      endFields(0)
      isFinished = true
      if failure == nil, !buffers.references.isEmpty { resolveReferences() }
    }

    /// Inserts a tag before each shared object, and its number at each reference.
    private func resolveReferences() {
      let shared = identities.entries.indices
        .filter { identities.entries[$0].isReferenced && identities.entries[$0].offset >= 0 }
        .sorted { identities.entries[$0].offset < identities.entries[$1].offset }
      guard !shared.isEmpty else { return }
      var numbers = [Int: Int](minimumCapacity: shared.count)
      for (number, entry) in shared.enumerated() { numbers[entry] = number }
      var resolved = CBORWriter(capacity: writer.count + 4 * (shared.count + buffers.references.count))
      var next = shared.startIndex
      writer.withBytes { bytes in
        var copied = 0
        func copy(to offset: Int) {
          resolved.append(bytes[copied..<offset])
          copied = offset
        }
        func tagObjects(before offset: Int) {
          while next < shared.endIndex, case let start = identities.entries[shared[next]].offset, start < offset {
            copy(to: start)
            resolved.writeTag(CBORTag.shared)
            next += 1
          }
        }
        for reference in buffers.references {
          // A conditional reference whose object was never encoded stays nil.
          guard let number = numbers[reference.entry] else { continue }
          tagObjects(before: reference.offset)
          copy(to: reference.offset)
          resolved.writeTag(CBORTag.reference)
          resolved.writeInteger(number)
          copied += 1
        }
        tagObjects(before: bytes.count)
        copy(to: bytes.count)
      }
      swap(&writer, &resolved)
    }
  }

  extension Dictionary {
    fileprivate init(minimumCapacity: Int) {
      self.init()
      reserveCapacity(minimumCapacity)
    }
  }

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
