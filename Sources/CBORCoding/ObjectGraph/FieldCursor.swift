#if !canImport(Darwin)
  import Foundation

  /// The reading position in the fields of one object or the top level.
  ///
  /// Fields are mostly read in the order they were written, so one comparison finds each. The first one out of order
  /// builds an index.
  struct FieldCursor {
    /// The object's class; `nil` at the top level.
    let record: ClassRecord.Reference?
    let start: Int
    let count: Int
    /// The key after the last field read in order.
    var next: Int
    /// Fields left from `next`.
    var left: Int
    /// The number of the next value without a key.
    var unkeyed = 0
    /// Whether the last found field is at `next`.
    var isInOrder = false
    var index: FieldIndex?

    init(record: ClassRecord.Reference?, start: Int, count: Int) {
      self.record = record
      self.start = start
      self.count = count
      next = start
      left = count
    }
  }

  final class FieldIndex {
    private struct Field {
      /// The key, with its head.
      let key: Int
      let keyLength: Int
      let value: Int
    }

    /// The offset after the last field.
    let end: Int
    private let bytes: UnsafeRawBufferPointer
    private var fields: ContiguousArray<Field> = []
    /// Field numbers plus one, by hash of their keys; empty for few fields.
    private var slots: ContiguousArray<Int> = []
    /// The field after the last found one.
    private var expected = 0

    init(_ bytes: UnsafeRawBufferPointer, start: Int, count: Int) throws(CBORError) {
      self.bytes = bytes
      var reader = CBORReader(bytes, at: start)
      fields.reserveCapacity(count)
      for _ in 0..<count {
        let key = reader.offset
        try reader.skipChecked()
        let value = reader.offset
        try reader.skipChecked()
        fields.append(Field(key: key, keyLength: value - key, value: value))
      }
      end = reader.offset
      guard count > 16 else { return }
      var capacity = 64
      while capacity < count * 2 { capacity *= 2 }
      slots = ContiguousArray(repeating: 0, count: capacity)
      for index in fields.indices {
        let field = fields[index]
        var slot = Self.hash(UnsafeRawBufferPointer(rebasing: bytes[field.key..<field.value])) & (capacity - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (capacity - 1) }
        slots[slot] = index + 1
      }
    }

    /// The offset of the value with an encoded key.
    func value(forKey key: UnsafeRawBufferPointer) -> Int? {
      if expected < fields.count, matches(expected, key) { return found(expected) }
      if slots.isEmpty {
        for index in fields.indices where matches(index, key) { return found(index) }
        return nil
      }
      let mask = slots.count - 1
      var slot = Self.hash(key) & mask
      while case let number = slots[slot], number != 0 {
        if matches(number - 1, key) { return found(number - 1) }
        slot = (slot + 1) & mask
      }
      return nil
    }

    private func found(_ index: Int) -> Int {
      expected = index + 1
      return fields[index].value
    }

    private func matches(_ index: Int, _ key: UnsafeRawBufferPointer) -> Bool {
      let field = fields[index]
      return field.keyLength == key.count
        && memcmp(bytes.baseAddress! + field.key, key.baseAddress!, key.count) == 0
    }

    /// Randomly seeded in each process, so that an archive cannot force collisions.
    private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
      var hasher = Hasher()
      hasher.combine(bytes: key)
      return hasher.finalize()
    }
  }
#endif
