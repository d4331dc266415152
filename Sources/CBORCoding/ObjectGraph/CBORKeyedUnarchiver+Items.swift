#if !canImport(Darwin)
  import Foundation
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
        reader.rewind(to: start)
        return try readIntegerObject(&reader)
      case .text:
        try permit(NSString.self, isElement, start)
        reader.rewind(to: start)
        let text = try readText(&reader)
        budget.count(text.utf8.count >> 6)
        return NSString(string: text)
      case .bytes:
        try permit(NSData.self, isElement, start)
        reader.rewind(to: start)
        let bytes = try readBytes(&reader)
        budget.count(bytes.count >> 6)
        return NSData(bytes: bytes.baseAddress, length: bytes.count)
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
      return NSUUID(uuidBytes: bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    private func readDecimal(_ reader: inout CBORReader) throws(CBORCodingError) -> NSDecimalNumber {
      let start = reader.offset
      try readArray(of: 2, &reader)
      let exponent: Int = try readInteger(&reader)
      let (magnitude, isNegative) = try readMantissa(&reader)
      guard let decimal = Decimal(mantissa: magnitude, isNegative: isNegative, exponent: exponent) else {
        throw mismatch("a decimal number", at: start)
      }
      return NSDecimalNumber(decimal: decimal)
    }

    /// Reads a 128-bit integer and its sign.
    private func readMantissa(
      _ reader: inout CBORReader
    ) throws(CBORCodingError) -> (magnitude: UInt128, isNegative: Bool) {
      let start = reader.offset
      let head = try head(&reader)
      var argument = UInt128(head.argument)
      var isNegative = head.major == .negative
      switch head.major {
      case .unsigned, .negative: break
      case .tag where head.argument == CBORTag.unsignedBignum || head.argument == CBORTag.negativeBignum:
        isNegative = head.argument == CBORTag.negativeBignum
        let bytes = try readBytes(&reader)
        guard bytes.count <= 16 else { throw mismatch("a mantissa of 128 bits", at: start) }
        argument = bytes.reduce(0) { $0 << 8 | UInt128($1) }
      default: throw mismatch("a decimal mantissa", at: start)
      }
      guard isNegative else { return (argument, false) }
      // The value is -1 - argument.
      guard argument < .max else { throw mismatch("a mantissa of 128 bits", at: start) }
      return (argument + 1, true)
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
#endif
