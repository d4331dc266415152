#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension CBORKeyedUnarchiver {
    @inline(__always)
    func head(_ reader: inout CBORReader) throws(CBORCodingError) -> CBORHead {
      do {
        return try reader.readHead()
      } catch {
        throw damaged(error)
      }
    }

    func damaged(_ error: CBORError) -> CBORCodingError {
      CBORCodingError(error, "The archive is damaged.")
    }

    /// Reads an integer, an integral floating-point number, or a Boolean as 0 or 1.
    @inline(__always)
    func readInteger<I: FixedWidthInteger>(_ reader: inout CBORReader) throws(CBORCodingError) -> I {
      let start = reader.offset
      let head = try head(&reader)
      let value: I? =
        switch head.major {
        case .unsigned: I(exactly: head.argument)
        case .negative: I.isSigned ? I(exactly: head.argument).map { ~$0 } : nil
        default: head.double.flatMap { I(exactly: $0) } ?? head.boolean.map { $0 ? 1 : 0 }
        }
      guard let value else { throw mismatch("an integer of \(I.bitWidth) bits", at: start) }
      return value
    }

    @inline(__always)
    func readNumber(_ reader: inout CBORReader) throws(CBORCodingError) -> Double {
      let start = reader.offset
      let head = try head(&reader)
      switch head.major {
      case .unsigned: return Double(head.argument)
      case .negative:
        // -1 - n, rounded once.
        let (magnitude, overflow) = head.argument.addingReportingOverflow(1)
        return overflow ? -0x1p64 : -Double(magnitude)
      default:
        guard let value = head.double ?? head.boolean.map({ $0 ? 1 : 0 }) else { throw mismatch("a number", at: start) }
        return value
      }
    }

    func readText(_ reader: inout CBORReader) throws(CBORCodingError) -> String {
      let start = reader.offset
      do {
        return try reader.readText()
      } catch {
        throw mismatch("a string", at: start)
      }
    }

    func readBytes(_ reader: inout CBORReader) throws(CBORCodingError) -> UnsafeRawBufferPointer {
      let start = reader.offset
      guard let bytes = try? reader.readDefinite(.bytes) else { throw mismatch("bytes", at: start) }
      return bytes
    }

    /// Reads an array's head. Returns its count.
    @inline(__always)
    func arrayCount(_ reader: inout CBORReader) throws(CBORCodingError) -> Int {
      let start = reader.offset
      guard let count = try? reader.readArrayHead() else { throw mismatch("an array", at: start) }
      return count
    }

    @inline(__always)
    func mapCount(_ reader: inout CBORReader) throws(CBORCodingError) -> Int {
      let start = reader.offset
      guard let count = try? reader.readMapHead() else { throw mismatch("a map", at: start) }
      return count
    }

    /// Reads the head of an array with a known count.
    func readArray(of count: Int, _ reader: inout CBORReader) throws(CBORCodingError) {
      let start = reader.offset
      guard try arrayCount(&reader) == count else { throw mismatch("an array of \(count)", at: start) }
    }

    // MARK: Values of Objective-C types

    func read(_ type: ObjCType, _ reader: inout CBORReader, to address: UnsafeMutableRawPointer) throws(CBORCodingError)
    {
      switch type {
      case .int8: address.storeBytes(of: try readInteger(&reader), as: Int8.self)
      case .uint8: address.storeBytes(of: try readInteger(&reader), as: UInt8.self)
      case .int16: address.storeBytes(of: try readInteger(&reader), as: Int16.self)
      case .uint16: address.storeBytes(of: try readInteger(&reader), as: UInt16.self)
      case .int32: address.storeBytes(of: try readInteger(&reader), as: Int32.self)
      case .uint32: address.storeBytes(of: try readInteger(&reader), as: UInt32.self)
      case .int64: address.storeBytes(of: try readInteger(&reader), as: Int64.self)
      case .uint64: address.storeBytes(of: try readInteger(&reader), as: UInt64.self)
      case .float: address.storeBytes(of: Float(try readNumber(&reader)), as: Float.self)
      case .double: address.storeBytes(of: try readNumber(&reader), as: Double.self)
      case .bool:
        let start = reader.offset
        guard let value = try head(&reader).boolean else { throw mismatch("a boolean", at: start) }
        address.storeBytes(of: value, as: Bool.self)
      case .cString:
        var string: UnsafeMutablePointer<CChar>?
        if (try? reader.readNil()) != true {
          string = strdup(try readText(&reader))
          if let string { cStrings.append(string) }
        }
        address.storeBytes(of: UnsafePointer(string), as: UnsafePointer<CChar>?.self)
      case .object:
        address.assumingMemoryBound(to: Any?.self).pointee = try readItem(&reader, isElement: false)
      case .anyClass: address.storeBytes(of: try readClass(&reader), as: AnyClass?.self)
      case .array, .structure:
        try readArray(of: type.partCount, &reader)
        var failure: CBORCodingError?
        type.forEachPart { part, offset in
          guard failure == nil else { return }
          do throws(CBORCodingError) { try read(part, &reader, to: address + offset) } catch { failure = error }
        }
        if let failure { throw failure }
      }
    }

    private func readClass(_ reader: inout CBORReader) throws(CBORCodingError) -> AnyClass? {
      if (try? reader.readNil()) == true { return nil }
      let start = reader.offset
      _ = try readText(&reader)
      let name = UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset])
      let found: AnyClass? = try record(named: name, at: start).pointee.anyClass
      guard let found, !requiresSecureCoding || allowed.contains(found) else {
        throw corrupt("A class that is not allowed was found", .classNotAllowed, at: start)
      }
      return found
    }
  }

  extension CBORHead {
    @inline(__always) var boolean: Bool? { initialByte == 0xF5 ? true : initialByte == 0xF4 ? false : nil }
  }
#endif
