import Foundation

// Values that are read without asking their types.

extension CBORDecodingSession {
  /// A value whose type was found to be that of `leaf`; nil: the item has another form, and the type is to be asked.
  @inline(__always)
  func leaf<T>(_ leaf: CBORLeaf, _ type: T.Type, at position: CBORPosition) throws(CBORValueError) -> T? {
    switch leaf {
    case .none: return nil
    case .data: return cast(try data(at: position), to: type)
    case .date: return cast(try date(at: position), to: type)
    case .url: return cast(try url(at: position), to: type)
    case .uuid: return cast(try uuid(at: position), to: type)
    case .decimal: return cast(try decimal(at: position), to: type)
    case .string: return cast(try string(at: position), to: type)
    case .bool: return cast(try bool(at: position), to: type)
    case .double: return cast(try double(at: position), to: type)
    case .float: return cast(try float(at: position), to: type)
    case .int: return cast(try integer(Int.self, at: position), to: type)
    case .int8: return cast(try integer(Int8.self, at: position), to: type)
    case .int16: return cast(try integer(Int16.self, at: position), to: type)
    case .int32: return cast(try integer(Int32.self, at: position), to: type)
    case .int64: return cast(try integer(Int64.self, at: position), to: type)
    case .int128: return cast(try integer(Int128.self, at: position), to: type)
    case .uint: return cast(try integer(UInt.self, at: position), to: type)
    case .uint8: return cast(try integer(UInt8.self, at: position), to: type)
    case .uint16: return cast(try integer(UInt16.self, at: position), to: type)
    case .uint32: return cast(try integer(UInt32.self, at: position), to: type)
    case .uint64: return cast(try integer(UInt64.self, at: position), to: type)
    case .uint128: return cast(try integer(UInt128.self, at: position), to: type)
    case .stringArray:
      return cast(
        try array(of: String.self, at: position) { (session, position) throws(CBORValueError) in
          try session.string(at: position)
        }, to: type)
    case .boolArray:
      return cast(
        try array(of: Bool.self, at: position) { (session, position) throws(CBORValueError) in
          try session.bool(at: position)
        }, to: type)
    case .doubleArray:
      return cast(
        try array(of: Double.self, at: position) { (session, position) throws(CBORValueError) in
          try session.double(at: position)
        }, to: type)
    case .floatArray:
      return cast(
        try array(of: Float.self, at: position) { (session, position) throws(CBORValueError) in
          try session.float(at: position)
        }, to: type)
    case .intArray: return cast(try integers(Int.self, at: position), to: type)
    case .int8Array: return cast(try integers(Int8.self, at: position), to: type)
    case .int16Array: return cast(try integers(Int16.self, at: position), to: type)
    case .int32Array: return cast(try integers(Int32.self, at: position), to: type)
    case .int64Array: return cast(try integers(Int64.self, at: position), to: type)
    case .uintArray: return cast(try integers(UInt.self, at: position), to: type)
    case .uint8Array: return cast(try integers(UInt8.self, at: position), to: type)
    case .uint16Array: return cast(try integers(UInt16.self, at: position), to: type)
    case .uint32Array: return cast(try integers(UInt32.self, at: position), to: type)
    case .uint64Array: return cast(try integers(UInt64.self, at: position), to: type)
    }
  }

  @inline(__always)
  private func cast<Source, Target>(_ value: Source?, to type: Target.Type) -> Target? {
    value.map { RawArchiving.cast($0, to: type) }
  }

  @inline(__always)
  private func integers<I: FixedWidthInteger>(
    _ type: I.Type, at position: CBORPosition
  ) throws(CBORValueError) -> [I]? {
    try array(of: type, at: position) { (session, position) throws(CBORValueError) in
      try session.integer(type, at: position)
    }
  }

  /// nil: it is no array, or an element is not as it should be; the type finds out which, and the path to it.
  @inline(__always)
  private func array<Element>(
    of type: Element.Type, at position: CBORPosition,
    _ read: (CBORDecodingSession, CBORPosition) throws(CBORValueError) -> Element
  ) throws(CBORValueError) -> [Element]? {
    var position = position
    document.skipTags(&position)
    guard document.initialByte(position) >> 5 == CBORMajorType.array.rawValue else { return nil }
    let count = document.enter(&position, tape)
    var elements: [Element] = []
    // So many there are: the scan has counted them.
    elements.reserveCapacity(count)
    for _ in 0..<count {
      do throws(CBORValueError) { elements.append(try read(self, position)) } catch { return nil }
      skip(&position)
    }
    return elements
  }
}
