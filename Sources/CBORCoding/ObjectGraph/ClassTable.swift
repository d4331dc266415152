#if !canImport(Darwin)
  import Foundation
  import FoundationObjects
  import Synchronization

  /// Records of all types met so far, by type and by name. Lookups take no lock: a full table is replaced by a larger
  /// copy.
  final class ClassTable: Sendable {
    static let shared = ClassTable()

    // Addresses of cells with `RecordSlots`.
    private let byType = Atomic(CBORCell(RecordSlots(capacity: 256)).address)
    private let byName = Atomic(CBORCell(RecordSlots(capacity: 256)).address)
    private let writer = Mutex(())

    private init() {
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
      Self.slots(byType).value.find(hash: Self.hash(id)) { $0.value.id == id }
    }

    /// The class with this name, a text item, if met before.
    @inline(__always)
    static func record(named item: CBORBytes) -> ClassRecord.Reference? { shared.find(named: item) }

    @inline(__always)
    private func find(named item: CBORBytes) -> ClassRecord.Reference? {
      Self.slots(byName).value.find(hash: Self.hash(item)) { $0.value.encodedName.order(item) == 0 }
    }

    @inline(never)
    @discardableResult
    private func insert(_ type: Any.Type, _ form: ValueForm?) -> ClassRecord.Reference {
      // Made outside the lock, because it calls foreign code of the type.
      let record = ClassRecord(type, form)
      return writer.withLock { _ in
        if let existing = find(record.id) { return existing }
        let cell = CBORCell(record)
        if !record.encodedName.isEmpty, find(named: record.encodedName) == nil {
          Self.add(cell, Self.hash(record.encodedName), to: byName) { Self.hash($0.value.encodedName) }
        }
        Self.add(cell, Self.hash(record.id), to: byType) { Self.hash($0.value.id) }
        return cell
      }
    }

    @inline(__always)
    private static func slots(_ table: borrowing Atomic<UInt>) -> CBORCell<RecordSlots> {
      unsafe CBORCell(address: table.load(ordering: .acquiring))
    }

    private static func add(
      _ record: ClassRecord.Reference, _ hash: Int, to table: borrowing Atomic<UInt>,
      _ rehash: (ClassRecord.Reference) -> Int
    ) {
      let slots = slots(table)
      guard slots.value.isFull else { return slots.value.insert(record, hash: hash) }
      let grown = CBORCell(slots.value.grown(rehash))
      grown.value.insert(record, hash: hash)
      table.store(grown.address, ordering: .releasing)
    }

    @inline(__always)
    private static func hash(_ id: ObjectIdentifier) -> Int {
      // Metadata is aligned to 16 bytes; after the multiplication the high bits depend on all others.
      let product = UInt(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
      return Int(truncatingIfNeeded: product >> 32)
    }

    @inline(__always)
    private static func hash(_ bytes: CBORBytes) -> Int {
      // Names differ more at their ends; the caller compares on collisions.
      var hash = UInt64(truncatingIfNeeded: bytes.count)
      var index = bytes.count
      while index >= 8 {
        index &-= 8
        hash = (hash ^ bytes.load(UInt64.self, at: index)) &* 0x9E37_79B9_7F4A_7C15
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
  /// Slots change once: from 0 to a record's address. Never freed.
  @safe struct RecordSlots: ~Copyable {
    private let slots: UnsafeMutablePointer<Atomic<UInt>>
    /// A power of two.
    private let capacity: Int
    private let count = Atomic(0)

    init(capacity: Int) {
      self.capacity = capacity
      unsafe slots = .allocate(capacity: capacity)
      for index in 0..<capacity { unsafe (slots + index).initialize(to: Atomic(0)) }
    }

    /// The slot of a hash, or of the number after a slot's.
    @inline(__always)
    private subscript(number: Int) -> Atomic<UInt> {
      unsafeAddress { unsafe UnsafePointer(slots + (number & (capacity &- 1))) }
    }

    /// Limits the load to one half, to keep lookups short.
    var isFull: Bool { count.load(ordering: .relaxed) * 2 >= capacity }

    @inline(__always)
    func find(hash: Int, where matches: (ClassRecord.Reference) -> Bool) -> ClassRecord.Reference? {
      var index = hash
      while case let address = self[index].load(ordering: .acquiring), address != 0 {
        let record = unsafe ClassRecord.Reference(address: address)
        if matches(record) { return record }
        index &+= 1
      }
      return nil
    }

    /// For the writer only; the table must not be full.
    func insert(_ record: ClassRecord.Reference, hash: Int) {
      var index = hash
      while self[index].load(ordering: .relaxed) != 0 { index &+= 1 }
      self[index].store(record.address, ordering: .releasing)
      count.add(1, ordering: .relaxed)
    }

    /// A table of twice the size with the same records.
    func grown(_ hash: (ClassRecord.Reference) -> Int) -> RecordSlots {
      let grown = RecordSlots(capacity: capacity * 2)
      for index in 0..<capacity {
        let address = self[index].load(ordering: .relaxed)
        guard address != 0 else { continue }
        let record = unsafe ClassRecord.Reference(address: address)
        grown.insert(record, hash: hash(record))
      }
      return grown
    }
  }

  /// A type's properties for the coders, made once per process and never freed.
  // Sendable: never changed.
  struct ClassRecord: @unchecked Sendable {
    /// Not reference counted, so that threads encoding the same class share no written memory.
    typealias Reference = CBORCell<ClassRecord>

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
    private(set) var encodedName = CBORBytes.none

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

    private static func encoded(_ name: String) -> CBORBytes {
      let writer = CBORCell(CBORWriter(capacity: name.utf8.count + CBORWriter.longestHead))
      writer.value.writeText(name)
      return writer.value.withBytes { bytes in bytes }
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
    static func name(of record: ClassRecord.Reference) -> String { name(of: record.value.type) }

    static func name(of type: Any.Type) -> String {
      let name = _typeName(type, qualified: true)
      return name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
    }
  }

  /// The value in an `Any` of known type `T`, without the cost of a dynamic cast.
  @inline(__always)
  func payload<T>(of value: Any, as type: T.Type) -> T {
    func read<Value>(_ value: Value) -> T { CBORLeaf.cast(value, to: type) }
    return _openExistential(value, do: read)
  }
#endif
