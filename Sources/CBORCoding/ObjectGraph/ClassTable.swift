#if !canImport(Darwin)
  import Foundation
  import FoundationObjects
  import Synchronization

  /// Records of all types met so far, by type and by name. Lookups take no lock: a full table is replaced by a larger
  /// copy.
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

  /// A type's properties for the coders, made once per process and never freed.
  struct ClassRecord {
    /// Not reference counted, so that threads encoding the same class share no written memory.
    typealias Reference = UnsafePointer<ClassRecord>

    let type: Any.Type
    let form: ValueForm
    let elements: (any SwiftElements.Type)?
    /// The rest is of classes only.
    private(set) var coding: (any NSCoding.Type)?
    private(set) var hashing = Hashing.sound
    /// The class's index in ``FoundationCoding/all``.
    private(set) var foundationCoding = -1
    private(set) var supportsSecureCoding = true
    private(set) var isNSObject = false
    /// The class that reads this one's archives, if different.
    private(set) var unarchivedAs: AnyClass?
    /// Whether it inherits from a Foundation class other than `NSObject`.
    private(set) var extendsFoundation = false
    /// The FoundationNetworking class that it is or inherits from.
    private(set) var networkingClass: AnyClass?
    /// The name as a text item; empty if the class cannot be found by name.
    private(set) var encodedName = UnsafeRawBufferPointer(start: nil, count: 0)

    var anyClass: AnyClass? { type as? AnyClass }
  }

  extension ClassRecord {
    /// - Parameter form: The type's form, if known.
    init(_ type: Any.Type, _ form: ValueForm?) {
      self.type = type
      elements = type as? any SwiftElements.Type
      guard let anyClass = type as? AnyClass else {
        self.form = form ?? .swiftOther
        return
      }
      let coding = anyClass as? any NSCoding.Type
      if let index = FoundationCoding.all.firstIndex(where: { $0.type == anyClass }) { foundationCoding = index }
      if let form {
        self.form = form
      } else if foundationCoding >= 0 {
        self.form = .foundation
      } else if ClassName.isFoundation(anyClass) {
        self.form = .foundationCluster
      } else {
        self.form = coding == nil ? .unsupported : .object
      }
      hashing = Hashing.of(anyClass)
      isNSObject = anyClass is NSObject.Type
      extendsFoundation = ClassName.extendsFoundation(anyClass)
      if self.form != .foundationCluster, let name = ClassName.name(of: anyClass) { encodedName = Self.encoded(name) }
      if self.form == .object {
        self.coding = coding
        unarchivedAs = Self.substitute(for: anyClass)
        networkingClass = NetworkingClass.ancestor(of: anyClass)
      }
      if self.form == .object || self.form == .unsupported {
        supportsSecureCoding = (anyClass as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
      }
    }

    private static func substitute(for type: AnyClass) -> AnyClass? {
      guard let substitute = (type as? NSObject.Type)?.classForKeyedUnarchiver(), substitute != type else { return nil }
      return substitute
    }

    private static func encoded(_ name: String) -> UnsafeRawBufferPointer {
      var writer = CBORWriter()
      writer.writeText(name)
      return writer.withBytes { bytes in
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(copy)
      }
    }
  }

  enum ValueForm: UInt8 {
    case swiftBool, swiftInteger, swiftUnsigned, swiftFloat, swiftDouble, swiftString, swiftData, swiftDate, swiftUUID
    /// Any other value type: written in its bridged form, if Foundation bridges it.
    case swiftOther

    // Foundation classes with an item of their own.
    case string, mutableString, boolean, number, decimalNumber, data, mutableData, date, url, uuid, null
    case array, mutableArray, dictionary, mutableDictionary, set, mutableSet, countedSet, orderedSet, mutableOrderedSet
    /// A class in ``FoundationCoding/all``.
    case foundation
    /// A private Foundation class: the object names its public class.
    case foundationCluster

    case object
    case unsupported

    /// Whether an object of this form is written once and then referred to.
    var hasIdentity: Bool {
      switch self {
      case .mutableString, .mutableData, .array, .mutableArray, .dictionary, .mutableDictionary, .set, .mutableSet,
        .countedSet, .orderedSet, .mutableOrderedSet, .foundation, .object:
        true
      default: false
      }
    }

    /// Whether sets and dictionary keys of this form are sorted.
    var isPlain: Bool {
      switch self {
      case .swiftBool, .swiftInteger, .swiftUnsigned, .swiftFloat, .swiftDouble, .swiftString, .swiftData, .swiftDate,
        .swiftUUID, .string, .boolean, .number, .data, .date, .uuid, .null:
        true
      default: false
      }
    }
  }

  extension ValueForm {
    /// Types with a fixed form.
    static let types: [(type: Any.Type, form: ValueForm)] = [
      (Bool.self, .swiftBool), (Int.self, .swiftInteger), (Int8.self, .swiftInteger), (Int16.self, .swiftInteger),
      (Int32.self, .swiftInteger), (Int64.self, .swiftInteger), (UInt.self, .swiftUnsigned),
      (UInt8.self, .swiftUnsigned), (UInt16.self, .swiftUnsigned), (UInt32.self, .swiftUnsigned),
      (UInt64.self, .swiftUnsigned), (Float.self, .swiftFloat), (Double.self, .swiftDouble),
      (CGFloat.self, CGFloat.NativeType.self == Double.self ? .swiftDouble : .swiftFloat),
      (String.self, .swiftString), (Data.self, .swiftData), (Date.self, .swiftDate), (UUID.self, .swiftUUID),
      (NSString.self, .string), (NSMutableString.self, .mutableString), (NSNumber.self, .number),
      // Foundation uses a separate class for Boolean numbers.
      (type(of: NSNumber(value: true)), .boolean), (NSDecimalNumber.self, .decimalNumber), (NSData.self, .data),
      (NSMutableData.self, .mutableData), (NSDate.self, .date), (NSURL.self, .url), (NSUUID.self, .uuid),
      (NSNull.self, .null), (NSArray.self, .array), (NSMutableArray.self, .mutableArray),
      (NSDictionary.self, .dictionary), (NSMutableDictionary.self, .mutableDictionary), (NSSet.self, .set),
      (NSMutableSet.self, .mutableSet), (NSCountedSet.self, .countedSet), (NSOrderedSet.self, .orderedSet),
      (NSMutableOrderedSet.self, .mutableOrderedSet),
    ]
  }

  /// Class names in archives that differ from the classes' own.
  struct ClassNameMap {
    private var names: [ObjectIdentifier: String] = [:]
    private var classes: [String: AnyClass] = [:]

    var isEmpty: Bool { names.isEmpty && classes.isEmpty }

    subscript(name type: AnyClass) -> String? {
      get { names[ObjectIdentifier(type)] }
      set { names[ObjectIdentifier(type)] = newValue }
    }

    subscript(class name: String) -> AnyClass? {
      get { classes[name] }
      set { classes[name] = newValue }
    }

    /// Process-wide names, one map for each direction.
    static let archiving = Shared()
    static let unarchiving = Shared()

    final class Shared: Sendable {
      private let map = Mutex(ClassNameMap())
      /// Avoids the lock in most processes, which set no names.
      private let used = Atomic(false)

      var isUsed: Bool { used.load(ordering: .acquiring) }

      func read<R>(_ body: (borrowing ClassNameMap) -> R?) -> R? {
        guard isUsed else { return nil }
        return map.withLock { body($0) }
      }

      func change(_ body: (inout ClassNameMap) -> Void) {
        map.withLock { body(&$0) }
        used.store(true, ordering: .releasing)
      }
    }
  }

  enum ClassDescription {
    static func name(of record: ClassRecord.Reference) -> String { name(of: record.pointee.type) }

    static func name(of type: Any.Type) -> String {
      let name = _typeName(type, qualified: true)
      return name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
    }
  }

  /// The value in an `Any` of known type `T`, without the cost of a dynamic cast.
  @inline(__always)
  func payload<T>(of value: Any, as type: T.Type) -> T {
    func read<Value>(_ value: Value) -> T {
      withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: T.self).pointee }
    }
    return _openExistential(value, do: read)
  }
#endif
