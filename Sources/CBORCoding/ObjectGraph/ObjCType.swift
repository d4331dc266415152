#if !canImport(Darwin)
  import Foundation

  /// A number in Objective-C's `@encode` form, such as `i`, or an array of them, such as `[3d]`.
  ///
  /// `l` and `L` have 32 bits, as in Foundation on Linux.
  struct ObjCType: Sendable {
    enum Number: Sendable {
      case int8, uint8, int16, uint16, int32, uint32, int64, uint64, float, double, bool
    }

    let number: Number
    /// `nil` for a number outside an array.
    let count: Int?

    init(_ number: Number, count: Int? = nil) {
      self.number = number
      self.count = count
    }

    /// Returns `nil` for other types.
    init?(_ encoding: String) {
      var text = Substring(encoding)
      var count: Int?
      if text.first == "[", text.last == "]" {
        let digits = text.dropFirst().prefix { $0.isASCII && $0.isNumber }
        text = text.dropFirst(1 + digits.count).dropLast()
        // Archives may claim any size.
        guard let parsed = Int(digits), parsed <= 1 << 25 else { return nil }
        count = parsed
      }
      guard text.utf8.count == 1, let number = Self.numbers[text.first!] else { return nil }
      self.init(number, count: count)
    }

    private static let numbers: [Character: Number] = [
      "c": .int8, "C": .uint8, "s": .int16, "S": .uint16, "i": .int32, "I": .uint32, "l": .int32, "L": .uint32,
      "q": .int64, "Q": .uint64, "f": .float, "d": .double, "B": .bool,
    ]

    var size: Int { stride * (count ?? 1) }
    /// Also the alignment.
    var stride: Int {
      switch number {
      case .int8, .uint8, .bool: 1
      case .int16, .uint16: 2
      case .int32, .uint32, .float: 4
      case .int64, .uint64, .double: 8
      }
    }
  }

  extension CBORKeyedArchiver {
    func write(_ type: ObjCType, at address: UnsafeRawPointer) {
      if let count = type.count { writer.writeArrayHead(count: count) }
      for index in 0..<(type.count ?? 1) { unsafe write(type.number, at: address + index * type.stride) }
    }

    private func write(_ number: ObjCType.Number, at address: UnsafeRawPointer) {
      func load<T: BitwiseCopyable>(_ type: T.Type) -> T { unsafe address.load(as: type) }
      switch number {
      case .int8: writer.writeInteger(load(Int8.self))
      case .uint8: writer.writeInteger(load(UInt8.self))
      case .int16: writer.writeInteger(load(Int16.self))
      case .uint16: writer.writeInteger(load(UInt16.self))
      case .int32: writer.writeInteger(load(Int32.self))
      case .uint32: writer.writeInteger(load(UInt32.self))
      case .int64: writer.writeInteger(load(Int64.self))
      case .uint64: writer.writeInteger(load(UInt64.self))
      case .float: writer.writeWhole(load(Float.self))
      case .double: writer.writeWhole(load(Double.self))
      case .bool: writer.writeBool(load(Bool.self))
      }
    }
  }

  extension CBORKeyedUnarchiver {
    func read(_ type: ObjCType, _ reader: inout CBORReader, to address: UnsafeMutableRawPointer) throws(CBORCodingError)
    {
      if let count = type.count { try readArray(of: count, &reader) }
      for index in 0..<(type.count ?? 1) { try unsafe read(type.number, &reader, to: address + index * type.stride) }
    }

    private func read(
      _ number: ObjCType.Number, _ reader: inout CBORReader, to address: UnsafeMutableRawPointer
    ) throws(CBORCodingError) {
      func store<T: BitwiseCopyable>(_ value: T) { unsafe address.storeBytes(of: value, as: T.self) }
      switch number {
      case .int8: store(try readInteger(&reader) as Int8)
      case .uint8: store(try readInteger(&reader) as UInt8)
      case .int16: store(try readInteger(&reader) as Int16)
      case .uint16: store(try readInteger(&reader) as UInt16)
      case .int32: store(try readInteger(&reader) as Int32)
      case .uint32: store(try readInteger(&reader) as UInt32)
      case .int64: store(try readInteger(&reader) as Int64)
      case .uint64: store(try readInteger(&reader) as UInt64)
      case .float: store(Float(try readNumber(&reader)))
      case .double: store(try readNumber(&reader))
      case .bool:
        let start = reader.offset
        guard let value = try head(&reader).boolean else { throw mismatch("a boolean", at: start) }
        store(value)
      }
    }
  }
#endif
