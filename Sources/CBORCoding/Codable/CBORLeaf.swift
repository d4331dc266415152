import Foundation

/// A type whose values are single items, coded without a container.
protocol CBORScalar: Codable {
  func writeItem(to writer: inout CBORWriter)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> Self
}

extension Bool: CBORScalar {
  @inline(__always) func writeItem(to writer: inout CBORWriter) { writer.writeBool(self) }
  @inline(__always)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> Bool {
    try session.bool(at: position)
  }
}

extension String: CBORScalar {
  @inline(__always) func writeItem(to writer: inout CBORWriter) { writer.writeText(self) }
  @inline(__always)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> String {
    try session.string(at: position)
  }
}

extension Double: CBORScalar {
  @inline(__always) func writeItem(to writer: inout CBORWriter) { writer.writeDouble(self) }
  @inline(__always)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> Double {
    try session.double(at: position)
  }
}

extension Float: CBORScalar {
  @inline(__always) func writeItem(to writer: inout CBORWriter) { writer.writeFloat(self) }
  @inline(__always)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> Float {
    try session.float(at: position)
  }
}

extension FixedWidthInteger {
  @inline(__always) func writeItem(to writer: inout CBORWriter) { writer.writeInteger(self) }
  @inline(__always)
  static func readItem(at position: CBORPosition, _ session: CBORDecodingSession) throws(CBORValueError) -> Self {
    try session.integer(Self.self, at: position)
  }
}

extension Int: CBORScalar {}
extension Int8: CBORScalar {}
extension Int16: CBORScalar {}
extension Int32: CBORScalar {}
extension Int64: CBORScalar {}
extension Int128: CBORScalar {}
extension UInt: CBORScalar {}
extension UInt8: CBORScalar {}
extension UInt16: CBORScalar {}
extension UInt32: CBORScalar {}
extension UInt64: CBORScalar {}
extension UInt128: CBORScalar {}

/// Types that are coded without their `Codable` conformance.
///
/// `Data`, `Date`, `URL`, `UUID` and `Decimal` have CBOR forms that their conformances do not know. The others give the
/// same result, ten times as fast.
enum CBORLeaf: UInt8 {
  case none
  case data, date, url, uuid, decimal
  case string, bool, double, float
  case int, int8, int16, int32, int64, int128, uint, uint8, uint16, uint32, uint64, uint128
  case stringArray, boolArray, doubleArray, floatArray
  case intArray, int32Array, int64Array, uint8Array, uint32Array, uint64Array

  /// Classifies a type by a small table of type identities, 30 times as fast as a conformance lookup.
  @inline(__always)
  static func of<T>(_ type: T.Type) -> CBORLeaf {
    let identity = UInt(bitPattern: ObjectIdentifier(type))
    var slot = Self.slot(identity)
    while true {
      let entry = table[slot]
      if entry.identity == identity { return entry.leaf }
      if entry.identity == 0 { return .none }
      slot = (slot &+ 1) & (slotCount &- 1)
    }
  }

  /// Reinterprets a value whose type is known to be `Target`.
  @inline(__always)
  static func cast<Source, Target>(_ value: Source, to type: Target.Type) -> Target {
    unsafe withUnsafePointer(to: value) { unsafe UnsafeRawPointer($0).assumingMemoryBound(to: Target.self).pointee }
  }

  /// A power of two that leaves most slots empty, so that unknown types are recognized at once.
  private static let slotCount = 256

  @inline(__always)
  private static func slot(_ identity: UInt) -> Int {
    Int(truncatingIfNeeded: (UInt64(identity) &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }

  private struct Entry {
    var identity: UInt
    var leaf: CBORLeaf
  }

  private static let table: ContiguousArray<Entry> = {
    var slots = ContiguousArray(repeating: Entry(identity: 0, leaf: .none), count: slotCount)
    for (type, leaf) in types {
      let identity = UInt(bitPattern: ObjectIdentifier(type))
      var slot = slot(identity)
      while slots[slot].identity != 0 { slot = (slot + 1) & (slotCount - 1) }
      slots[slot] = Entry(identity: identity, leaf: leaf)
    }
    return slots
  }()

  private static var types: [(Any.Type, CBORLeaf)] {
    [
      (Data.self, .data), (Date.self, .date), (URL.self, .url), (UUID.self, .uuid), (Decimal.self, .decimal),
      (String.self, .string), (Bool.self, .bool), (Double.self, .double), (Float.self, .float),
      (Int.self, .int), (Int8.self, .int8), (Int16.self, .int16), (Int32.self, .int32), (Int64.self, .int64),
      (Int128.self, .int128), (UInt.self, .uint), (UInt8.self, .uint8), (UInt16.self, .uint16), (UInt32.self, .uint32),
      (UInt64.self, .uint64), (UInt128.self, .uint128),
      ([String].self, .stringArray), ([Bool].self, .boolArray), ([Double].self, .doubleArray),
      ([Float].self, .floatArray), ([Int].self, .intArray),
      ([Int32].self, .int32Array), ([Int64].self, .int64Array), ([UInt8].self, .uint8Array),
      ([UInt32].self, .uint32Array), ([UInt64].self, .uint64Array),
    ]
  }
}

/// Sets and dictionaries, whose encoding order depends on hashes.
enum CBORUnorderedType {
  /// Items per element: one in a set, two in a dictionary; 0 for other types.
  ///
  /// Compares the generic type's descriptor in the metadata: a conformance lookup takes longer.
  @inline(__always)
  static func stride<T>(of type: T.Type) -> Int {
    guard let description = description(of: type) else { return 0 }
    return description == set ? 1 : description == dictionary ? 2 : 0
  }

  private static let set = description(of: Set<Int>.self)
  private static let dictionary = description(of: [Int: Int].self)

  /// The second word of a structure's metadata, by Swift's ABI; `nil` for other types.
  @inline(__always)
  private static func description<T>(of type: T.Type) -> UInt? {
    let metadata = unsafe unsafeBitCast(type, to: UnsafePointer<UInt>.self)
    return unsafe metadata[0] == structureKind ? metadata[1] : nil
  }

  private static let structureKind: UInt = 0x200
}
