#if !canImport(Darwin)
  import Foundation
  import Synchronization

  /// Records of all types met so far, by type and by name.
  ///
  /// Lookups take no lock: entries are only added, and a full table is replaced by a larger copy while the old one
  /// stays for its readers.
  final class ClassTable: Sendable {
    static let shared = ClassTable()

    // Addresses, because raw pointers are not Sendable.
    private let byType: Atomic<UInt>
    private let byName: Atomic<UInt>
    private let writer = Mutex(())

    private init() {
      byType = Atomic(UInt(bitPattern: RecordSlots.make(capacity: 256)))
      byName = Atomic(UInt(bitPattern: RecordSlots.make(capacity: 256)))
      for (type, form) in ValueForm.types { insert(type, form) }
      for coding in FoundationCoding.all { insert(coding.type, nil) }
    }

    /// A type's record, made on first use.
    @inline(__always)
    static func record(of type: Any.Type) -> ClassRecord.Reference {
      shared.find(ObjectIdentifier(type)) ?? shared.insert(type, nil)
    }

    @inline(__always)
    private func find(_ id: ObjectIdentifier) -> ClassRecord.Reference? {
      Self.slots(byType).find(hash: Self.hash(id)) { $0.pointee.id == id }
    }

    /// The class with this name, a text item, if met before.
    @inline(__always)
    static func record(named item: UnsafeRawBufferPointer) -> ClassRecord.Reference? {
      slots(shared.byName).find(hash: hash(item)) {
        let name = $0.pointee.encodedName
        return name.count == item.count && memcmp(name.baseAddress!, item.baseAddress!, item.count) == 0
      }
    }

    @inline(never)
    @discardableResult
    private func insert(_ type: Any.Type, _ form: ValueForm?) -> ClassRecord.Reference {
      // Made outside the lock, because it calls foreign code of the type.
      let record = ClassRecord(type, form)
      let address = writer.withLock { _ -> UInt in
        if let existing = find(record.id) { return UInt(bitPattern: existing) }
        let pointer = UnsafeMutablePointer<ClassRecord>.allocate(capacity: 1)
        pointer.initialize(to: record)
        if !record.encodedName.isEmpty, Self.record(in: byName, named: record.encodedName) == nil {
          Self.add(pointer, Self.hash(record.encodedName), to: byName) { Self.hash($0.pointee.encodedName) }
        }
        Self.add(pointer, Self.hash(record.id), to: byType) { Self.hash($0.pointee.id) }
        return UInt(bitPattern: pointer)
      }
      return ClassRecord.Reference(bitPattern: address).unsafelyUnwrapped
    }

    private static func record(
      in table: borrowing Atomic<UInt>, named item: UnsafeRawBufferPointer
    ) -> ClassRecord.Reference? {
      slots(table).find(hash: hash(item)) {
        $0.pointee.encodedName.elementsEqual(item)
      }
    }

    @inline(__always)
    private static func slots(_ table: borrowing Atomic<UInt>) -> RecordSlots {
      RecordSlots(UnsafeRawPointer(bitPattern: table.load(ordering: .acquiring)).unsafelyUnwrapped)
    }

    private static func add(
      _ record: UnsafeMutablePointer<ClassRecord>, _ hash: Int, to table: borrowing Atomic<UInt>,
      _ rehash: (ClassRecord.Reference) -> Int
    ) {
      var slots = slots(table)
      if slots.isFull {
        slots = slots.grown(rehash)
        slots.insert(ClassRecord.Reference(record), hash: hash)
        table.store(UInt(bitPattern: slots.base), ordering: .releasing)
      } else {
        slots.insert(ClassRecord.Reference(record), hash: hash)
      }
    }

    @inline(__always)
    private static func hash(_ id: ObjectIdentifier) -> Int {
      // Metadata is aligned to 16 bytes; after the multiplication the high bits depend on all others.
      let product = UInt(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
      return Int(truncatingIfNeeded: product >> 32)
    }

    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
      // Names differ more at their ends; the caller compares on collisions.
      var hash = UInt64(truncatingIfNeeded: bytes.count)
      var index = bytes.count
      while index >= 8 {
        index &-= 8
        hash = (hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
        hash ^= hash >> 29
      }
      while index > 0 {
        index &-= 1
        hash = (hash ^ UInt64(bytes[index])) &* 0x9E37_79B9_7F4A_7C15
      }
      return Int(truncatingIfNeeded: (hash ^ hash >> 32) & 0x7FFF_FFFF)
    }
  }

  extension ClassRecord {
    fileprivate var id: ObjectIdentifier { ObjectIdentifier(type) }
  }
#endif
