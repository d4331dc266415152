import Foundation

// Values read without their `Codable` conformance.

extension CBORDecodingSession {
  /// Reads a value of the type that `leaf` stands for.
  ///
  /// Throws instead of returning nil for other forms: an optional of a type known only at run time costs more than the
  /// rest.
  /// - Throws: `.otherForm` if the item has a form that the type itself may know.
  @inline(__always)
  func leaf<T>(_ leaf: CBORLeaf, _ type: T.Type, at position: CBORPosition) throws(CBORValueError) -> T {
    switch leaf {
    case .none: throw .otherForm
    case .data: return try cast(data(at: position), to: type)
    case .date: return try cast(date(at: position), to: type)
    case .url: return try cast(url(at: position), to: type)
    case .uuid: return try cast(uuid(at: position), to: type)
    case .decimal: return try cast(decimal(at: position), to: type)
    case .string: return try cast(string(at: position), to: type)
    case .bool: return try cast(bool(at: position), to: type)
    case .double: return try cast(double(at: position), to: type)
    case .float: return try cast(float(at: position), to: type)
    case .int: return try cast(integer(Int.self, at: position), to: type)
    case .int8: return try cast(integer(Int8.self, at: position), to: type)
    case .int16: return try cast(integer(Int16.self, at: position), to: type)
    case .int32: return try cast(integer(Int32.self, at: position), to: type)
    case .int64: return try cast(integer(Int64.self, at: position), to: type)
    case .int128: return try cast(integer(Int128.self, at: position), to: type)
    case .uint: return try cast(integer(UInt.self, at: position), to: type)
    case .uint8: return try cast(integer(UInt8.self, at: position), to: type)
    case .uint16: return try cast(integer(UInt16.self, at: position), to: type)
    case .uint32: return try cast(integer(UInt32.self, at: position), to: type)
    case .uint64: return try cast(integer(UInt64.self, at: position), to: type)
    case .uint128: return try cast(integer(UInt128.self, at: position), to: type)
    case .stringArray:
      return try cast(
        array(of: String.self, at: position) { (session, position) throws(CBORValueError) in
          try session.string(at: position)
        }, to: type)
    case .boolArray:
      return try cast(
        array(of: Bool.self, at: position) { (session, position) throws(CBORValueError) in
          try session.bool(at: position)
        }, to: type)
    case .doubleArray:
      return try cast(
        array(of: Double.self, at: position) { (session, position) throws(CBORValueError) in
          try session.double(at: position)
        }, to: type)
    case .floatArray:
      return try cast(
        array(of: Float.self, at: position) { (session, position) throws(CBORValueError) in
          try session.float(at: position)
        }, to: type)
    case .intArray: return try cast(integers(Int.self, at: position), to: type)
    case .int8Array: return try cast(integers(Int8.self, at: position), to: type)
    case .int16Array: return try cast(integers(Int16.self, at: position), to: type)
    case .int32Array: return try cast(integers(Int32.self, at: position), to: type)
    case .int64Array: return try cast(integers(Int64.self, at: position), to: type)
    case .uintArray: return try cast(integers(UInt.self, at: position), to: type)
    case .uint8Array: return try cast(integers(UInt8.self, at: position), to: type)
    case .uint16Array: return try cast(integers(UInt16.self, at: position), to: type)
    case .uint32Array: return try cast(integers(UInt32.self, at: position), to: type)
    case .uint64Array: return try cast(integers(UInt64.self, at: position), to: type)
    }
  }

  @inline(__always)
  private func cast<Source, Target>(_ value: Source?, to type: Target.Type) throws(CBORValueError) -> Target {
    guard let value else { throw .otherForm }
    return CBORLeaf.cast(value, to: type)
  }

  @inline(__always)
  private func integers<I: FixedWidthInteger>(
    _ type: I.Type, at position: CBORPosition
  ) throws(CBORValueError) -> [I]? {
    try array(of: type, at: position) { (session, position) throws(CBORValueError) in
      try session.integer(type, at: position)
    }
  }

  /// Returns `nil` if it is not an array of valid elements: the type's own decoding then finds the failure and its
  /// path.
  @inline(__always)
  private func array<Element>(
    of type: Element.Type, at position: CBORPosition,
    _ read: (CBORDecodingSession, CBORPosition) throws(CBORValueError) -> Element
  ) throws(CBORValueError) -> [Element]? {
    var position = position
    document.skipTags(&position)
    guard document.initialByte(position) >> 5 == CBORMajorType.array.rawValue else { return nil }
    let count = enter(&position)
    var elements: [Element] = []
    // The scan has verified the count.
    elements.reserveCapacity(count)
    for _ in 0..<count {
      do throws(CBORValueError) { elements.append(try read(self, position)) } catch { return nil }
      skip(&position)
    }
    return elements
  }
}
