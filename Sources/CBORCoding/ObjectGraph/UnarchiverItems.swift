#if !canImport(Darwin)
  package import Foundation
  import FoundationObjects

  extension CBORKeyedUnarchiver {
    /// Reads one value as an object; `nil` for nil.
    ///
    /// - Parameter isElement: Whether it is in a collection, where strings, numbers and data are always allowed.
    func readItem(_ reader: inout CBORReader, isElement: Bool) throws(CBORCodingError) -> AnyObject? {
      let start = reader.offset
      let head = try head(&reader)
      budget.count(1)
      switch head.major {
      case .unsigned, .negative:
        try permit(NSNumber.self, isElement, start)
        reader.move(to: start)
        return try readIntegerObject(&reader)
      case .text:
        try permit(NSString.self, isElement, start)
        reader.move(to: start)
        let text = try readText(&reader)
        budget.count(text.utf8.count >> 6)
        return NSString(string: text)
      case .bytes:
        try permit(NSData.self, isElement, start)
        reader.move(to: start)
        let bytes = try readBytes(&reader)
        budget.count(bytes.count >> 6)
        return unsafe NSData(bytes: bytes.pointer.baseAddress, length: bytes.count)
      case .array:
        try permit(NSArray.self, false, start)
        return try readArray(count: Int(truncatingIfNeeded: head.argument), &reader, start)
      case .map:
        try permit(NSDictionary.self, false, start)
        return try readDictionary(count: Int(truncatingIfNeeded: head.argument), &reader, start)
      case .simple:
        return try simpleObject(head, isElement, start)
      case .tag:
        return try readTagged(head.argument, &reader, isElement, start)
      }
    }

    private func readIntegerObject(_ reader: inout CBORReader) throws(CBORCodingError) -> NSNumber {
      let start = reader.offset
      let head = try head(&reader)
      if let small = Int(exactly: head.argument) { return NSNumber(value: head.major == .unsigned ? small : ~small) }
      guard head.major == .unsigned else { throw mismatch("an integer of 64 bits", at: start) }
      return NSNumber(value: head.argument)
    }

    /// Shared, because Foundation on Linux hashes equal `NSNull` instances differently.
    private static let null = NSNull()

    private func simpleObject(
      _ head: CBORHead, _ isElement: Bool, _ start: Int
    ) throws(CBORCodingError) -> AnyObject? {
      switch head.initialByte {
      case 0xF4, 0xF5:
        try permit(NSNumber.self, isElement, start)
        return NSNumber(value: head.initialByte == 0xF5)
      case 0xF6:
        try permit(NSNull.self, isElement, start)
        return Self.null
      case 0xF7: return nil
      case 0xFA:
        try permit(NSNumber.self, isElement, start)
        return NSNumber(value: Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
      default:
        guard let double = head.double else { throw corrupt("There is a simple value of no meaning", at: start) }
        try permit(NSNumber.self, isElement, start)
        return NSNumber(value: double)
      }
    }

    private func readTagged(
      _ tag: UInt64, _ reader: inout CBORReader, _ isElement: Bool, _ start: Int
    ) throws(CBORCodingError) -> AnyObject? {
      switch tag {
      case CBORTag.object: return try readObject(&reader, shared: nil, isElement, start)
      case CBORTag.shared: return try readShared(&reader, isElement, start)
      case CBORTag.reference: return try readReference(&reader, isElement, start)
      case CBORTag.set:
        try permit(NSSet.self, false, start)
        return try readSet(&reader, NSSet.self)
      case CBORTag.epochTime:
        try permit(NSDate.self, isElement, start)
        let epoch = try readNumber(&reader)
        return NSDate(timeIntervalSinceReferenceDate: epoch - Date.timeIntervalBetween1970AndReferenceDate)
      case CBORTag.uuid:
        try permit(NSUUID.self, isElement, start)
        return try readUUID(&reader)
      case CBORTag.uri:
        try permit(NSURL.self, isElement, start)
        let text = try readText(&reader)
        guard let url = NSURL(string: text) else { throw corrupt("\(text.quoted) is no URL", at: start) }
        return url
      case CBORTag.decimalFraction:
        try permit(NSDecimalNumber.self, isElement, start)
        return try readDecimal(&reader)
      default:
        throw corrupt("There is a value with the tag \(tag), which has no meaning here", at: start)
      }
    }

    private func readUUID(_ reader: inout CBORReader) throws(CBORCodingError) -> NSUUID {
      let start = reader.offset
      let bytes = try readBytes(&reader)
      guard bytes.count == 16 else { throw mismatch("a UUID of 16 bytes", at: start) }
      return unsafe NSUUID(uuidBytes: bytes.pointer.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    private func readDecimal(_ reader: inout CBORReader) throws(CBORCodingError) -> NSDecimalNumber {
      let start = reader.offset
      try readArray(of: 2, &reader)
      let exponent: Int = try readInteger(&reader)
      guard let (magnitude, isNegative) = try? reader.readMagnitude(),
        let decimal = Decimal(mantissa: magnitude, isNegative: isNegative, exponent: exponent)
      else { throw mismatch("a decimal number", at: start) }
      return NSDecimalNumber(decimal: decimal)
    }

    // MARK: What may be read

    /// - Throws: If objects of the class are not allowed now.
    @inline(__always)
    func permit(_ type: AnyClass, _ isHarmlessElement: Bool, _ start: Int) throws(CBORCodingError) {
      guard requiresSecureCoding, !isHarmlessElement || !Self.isHarmless(type), !allowed.contains(type) else { return }
      throw corrupt("An object of class \(ClassDescription.name(of: type)) is not allowed", .classNotAllowed, at: start)
    }

    /// Whether a class is allowed in every collection.
    static func isHarmless(_ type: AnyClass) -> Bool {
      type == NSString.self || type == NSNumber.self || type == NSData.self || type == NSMutableString.self
        || type == NSMutableData.self || type == NSDecimalNumber.self
    }

    /// Enters a nested object or collection.
    @inline(__always)
    func enter(_ start: Int) throws(CBORCodingError) {
      if let tooDeep = nesting.check(depth.current &+ 1) {
        throw corrupt(nesting.description(tooDeep), .tooDeep, at: start)
      }
      depth.enter()
    }
  }

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

    func readBytes(_ reader: inout CBORReader) throws(CBORCodingError) -> CBORBytes {
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
  }

  extension CBORHead {
    @inline(__always) var boolean: Bool? { initialByte == 0xF5 ? true : initialByte == 0xF4 ? false : nil }
  }

  extension CBORKeyedUnarchiver {
    /// Reads an object of a Foundation class with a special form.
    func readFoundationValue(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ number: Int?, _ start: Int
    ) throws(CBORCodingError) -> AnyObject {
      switch record.value.form {
      case .mutableString: return NSMutableString(string: try readText(&reader))
      case .mutableData:
        let bytes = try readBytes(&reader)
        budget.count(bytes.count >> 6)
        return unsafe NSMutableData(bytes: bytes.pointer.baseAddress, length: bytes.count)
      case .mutableArray: return try readMutableArray(&reader, number, start)
      case .mutableDictionary: return try readMutableDictionary(&reader, number, start)
      case .mutableSet: return try readSet(&reader, NSMutableSet.self)
      case .countedSet: return try readCountedSet(&reader)
      case .orderedSet: return try readOrderedSet(&reader, isMutable: false)
      case .mutableOrderedSet: return try readOrderedSet(&reader, isMutable: true)
      case .date: return NSDate(timeIntervalSinceReferenceDate: try readNumber(&reader))
      case .url: return try readRelativeURL(&reader, start)
      case .decimalNumber:
        guard try readNumber(&reader).isNaN else { throw mismatch("a decimal number", at: start) }
        return NSDecimalNumber.notANumber
      default:
        throw corrupt(
          "Objects of class \(ClassDescription.name(of: record)) cannot be decoded", .decodingFailed, at: start)
      }
    }

    private func readRelativeURL(_ reader: inout CBORReader, _ start: Int) throws(CBORCodingError) -> NSURL {
      try readArray(of: 2, &reader)
      let text = try readText(&reader)
      try enter(start)
      defer { depth.leave() }
      guard let base = try readItem(&reader, isElement: false) as? NSURL,
        let url = NSURL.checked(text, relativeTo: base)
      else { throw mismatch("a URL with a base", at: start) }
      return url
    }
  }

  extension CBORKeyedUnarchiver: FoundationFields {
    package func string(forKey key: String) -> String? {
      decodeObject(of: NSString.self, forKey: key).map { $0 as String }
    }

    package func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary? {
      contents(NSDictionary.self, others, forKey: key)
    }

    /// Decodes a collection of the currently allowed classes and some additional ones.
    func contents<Collection: NSObject>(
      _ type: Collection.Type, _ others: [AnyClass], forKey key: String
    ) -> Collection? {
      decodeObject(of: allowed.all + [type] + others, forKey: key) as? Collection
    }
  }

  extension CBORKeyedUnarchiver {
    /// Returns the root of an archive as the CBOR of a value, or `nil` if it needs a class. Strings, numbers, data,
    /// dates, URLs, UUIDs and collections of them do not.
    package static func plainRoot(of archive: UnsafeRawBufferPointer) -> Data? {
      var reader = unsafe CBORReader(CBORBytes(archive))
      var writer = CBORWriter(capacity: archive.count)
      do throws(CBORError) {
        guard try reader.readMapHead() == 1, try reader.readText() == NSKeyedArchiveRootObjectKey else { return nil }
        while !reader.isAtEnd {
          let start = reader.offset
          let head = try reader.readHead()
          switch (head.major, head.argument) {
          case (.tag, CBORTag.object):
            guard try reader.readArrayHead() == 2 else { return nil }
            switch try reader.readText() {
            case "NSMutableString", "NSMutableData", "NSMutableArray", "NSMutableDictionary", "NSMutableSet": continue
            case "NSDate":
              guard let seconds = try reader.readHead().double else { return nil }
              CBORDateForm.write(Date(timeIntervalSinceReferenceDate: seconds), to: &writer)
              continue
            default: return nil
            }
          case (.tag, CBORTag.shared), (.tag, CBORTag.reference): return nil
          case (.bytes, _), (.text, _):
            reader.move(to: start)
            guard try reader.readDefinite(head.major) != nil else { return nil }
          default: break
          }
          writer.append(reader.bytes[start..<reader.offset])
        }
      } catch {
        return nil
      }
      return writer.data
    }
  }
#endif
