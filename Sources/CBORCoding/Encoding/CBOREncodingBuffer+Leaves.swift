import Foundation

// Values written without their `Codable` conformance.

extension CBOREncodingBuffer {
  @inline(__always)
  func write<T>(_ leaf: CBORLeaf, _ value: T) {
    switch leaf {
    case .none: assertionFailure("The value is to be asked.")
    case .data: writer.writeBytes(cast(value, to: Data.self))
    case .date: CBORDateForm.write(cast(value, to: Date.self), to: &writer)
    case .url: write(cast(value, to: URL.self))
    case .uuid: write(cast(value, to: UUID.self))
    case .decimal: CBORDecimalForm.write(cast(value, to: Decimal.self), to: &writer)
    case .string: writer.writeText(cast(value, to: String.self))
    case .bool: writer.writeBool(cast(value, to: Bool.self))
    case .double: writer.writeDouble(cast(value, to: Double.self))
    case .float: writer.writeFloat(cast(value, to: Float.self))
    case .int: writer.writeInteger(cast(value, to: Int.self))
    case .int8: writer.writeInteger(cast(value, to: Int8.self))
    case .int16: writer.writeInteger(cast(value, to: Int16.self))
    case .int32: writer.writeInteger(cast(value, to: Int32.self))
    case .int64: writer.writeInteger(cast(value, to: Int64.self))
    case .int128: writer.writeInteger(cast(value, to: Int128.self))
    case .uint: writer.writeInteger(cast(value, to: UInt.self))
    case .uint8: writer.writeInteger(cast(value, to: UInt8.self))
    case .uint16: writer.writeInteger(cast(value, to: UInt16.self))
    case .uint32: writer.writeInteger(cast(value, to: UInt32.self))
    case .uint64: writer.writeInteger(cast(value, to: UInt64.self))
    case .uint128: writer.writeInteger(cast(value, to: UInt128.self))
    case .stringArray: write(cast(value, to: [String].self)) { $0.writeText($1) }
    case .boolArray: write(cast(value, to: [Bool].self)) { $0.writeBool($1) }
    case .doubleArray: write(cast(value, to: [Double].self)) { $0.writeDouble($1) }
    case .floatArray: write(cast(value, to: [Float].self)) { $0.writeFloat($1) }
    case .intArray: write(cast(value, to: [Int].self)) { $0.writeInteger($1) }
    case .int8Array: write(cast(value, to: [Int8].self)) { $0.writeInteger($1) }
    case .int16Array: write(cast(value, to: [Int16].self)) { $0.writeInteger($1) }
    case .int32Array: write(cast(value, to: [Int32].self)) { $0.writeInteger($1) }
    case .int64Array: write(cast(value, to: [Int64].self)) { $0.writeInteger($1) }
    case .uintArray: write(cast(value, to: [UInt].self)) { $0.writeInteger($1) }
    case .uint8Array: write(cast(value, to: [UInt8].self)) { $0.writeInteger($1) }
    case .uint16Array: write(cast(value, to: [UInt16].self)) { $0.writeInteger($1) }
    case .uint32Array: write(cast(value, to: [UInt32].self)) { $0.writeInteger($1) }
    case .uint64Array: write(cast(value, to: [UInt64].self)) { $0.writeInteger($1) }
    }
  }

  @inline(__always)
  private func cast<Source, Target>(_ value: Source, to type: Target.Type) -> Target {
    CBORLeaf.cast(value, to: type)
  }

  /// Writes tag 32, or `URL`'s own encoding for a URL with a base.
  private func write(_ url: URL) {
    if let base = url.baseURL {
      writer.writeMapHead(count: 2)
      writer.writeText("base")
      write(base)
      writer.writeText("relative")
      return writer.writeText(url.relativeString)
    }
    writer.writeTag(CBORTag.uri)
    writer.writeText(url.absoluteString)
  }

  private func write(_ uuid: UUID) {
    writer.writeTag(CBORTag.uuid)
    withUnsafeBytes(of: uuid.uuid) { bytes in writer.writeBytes(bytes) }
  }

  @inline(__always)
  private func write<Element>(_ array: [Element], _ writeElement: (inout CBORWriter, Element) -> Void) {
    writer.writeArrayHead(count: array.count)
    for element in array { writeElement(&writer, element) }
  }
}
