import Foundation

// Values that are one item.

extension CBORDecodingSession {
  @inline(__always)
  func bool(at position: CBORPosition) throws(CBORValueError) -> Bool {
    let head = untaggedHead(position)
    guard head.initialByte & 0xFE == 0xF4 else { throw head.mismatch }
    return head.initialByte == 0xF5
  }

  @inline(__always)
  func string(at position: CBORPosition) throws(CBORValueError) -> String {
    var position = position
    document.skipTags(&position)
    return try readString(&position)
  }

  @inline(__always)
  func readString(_ position: inout CBORPosition) throws(CBORValueError) -> String {
    let head = document.readHead(&position)
    guard head.major == .text else { throw head.mismatch }
    // The scan has validated the UTF-8.
    return String(utf8: document.readContent(head, &position))
  }

  // MARK: Numbers

  /// Reads an integer, also from a bignum or a floating-point number.
  @inline(__always)
  func integer<I: FixedWidthInteger>(_ type: I.Type, at position: CBORPosition) throws(CBORValueError) -> I {
    var content = position
    let head = document.readHead(&content)
    if head.initialByte >> 5 == CBORMajorType.unsigned.rawValue, let value = I(exactly: head.argument) { return value }
    return try otherInteger(type, at: position)
  }

  @inline(never)
  private func otherInteger<I: FixedWidthInteger>(
    _ type: I.Type, at position: CBORPosition
  ) throws(CBORValueError) -> I {
    guard let (magnitude, isNegative) = try magnitude(at: position, type) else {
      let head = untaggedHead(position)
      guard let double = head.double else { throw head.mismatch }
      guard let value = I(exactly: double) else { throw outOfRange(type, "\(double)") }
      return value
    }
    guard let value = I(magnitude: magnitude, isNegative: isNegative) else {
      throw outOfRange(type, (isNegative ? "-" : "") + "\(magnitude)")
    }
    return value
  }

  /// The absolute value and the sign of an integer or bignum inside any tags; `nil` for another item.
  private func magnitude(
    at position: CBORPosition, _ type: Any.Type
  ) throws(CBORValueError) -> (magnitude: UInt128, isNegative: Bool)? {
    var content = position
    var start = position
    var head = document.readHead(&content)
    while head.major == .tag, !head.isBignum {
      start = content
      head = document.readHead(&content)
    }
    guard head.major == .unsigned || head.major == .negative || head.isBignum else { return nil }
    var reader = CBORReader(document.bytes, at: Int(start.offset))
    guard let found = try? reader.readMagnitude() else {
      throw .corrupted("A large integer does not fit in \(type), or is not a byte string. Decode a wider type.")
    }
    return found
  }

  private func outOfRange(_ type: Any.Type, _ number: String) -> CBORValueError {
    .corrupted("The number \(number) does not fit in \(type). Decode a wider type.")
  }

  /// Reads a floating-point number, or an integer that converts exactly.
  @inline(__always)
  func double(at position: CBORPosition) throws(CBORValueError) -> Double {
    let head = untaggedHead(position)
    if let value = head.double { return value }
    return try integerAsDouble(at: position)
  }

  /// Reads the nearest value to a floating-point number, like `JSONDecoder`, or an integer that converts exactly.
  @inline(__always)
  func float(at position: CBORPosition) throws(CBORValueError) -> Float {
    let head = untaggedHead(position)
    if head.initialByte == 0xFA { return Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)) }
    guard let double = head.double else {
      let double = try integerAsDouble(at: position)
      guard let value = Float(exactly: double) else { throw outOfRange(Float.self, "\(double)") }
      return value
    }
    let value = Float(double)
    guard value.isFinite || !double.isFinite else { throw outOfRange(Float.self, "\(double)") }
    return value
  }

  @inline(never)
  private func integerAsDouble(at position: CBORPosition) throws(CBORValueError) -> Double {
    guard let (magnitude, isNegative) = try magnitude(at: position, Double.self) else {
      throw untaggedHead(position).mismatch
    }
    guard let value = Double(exactly: magnitude) else {
      throw outOfRange(Double.self, (isNegative ? "-" : "") + "\(magnitude)")
    }
    return isNegative ? -value : value
  }

  @inline(__always)
  func untaggedHead(_ position: CBORPosition) -> CBORHead {
    var position = position
    document.skipTags(&position)
    return document.readHead(&position)
  }

  /// Moves past tags to the head of the tagged item. Returns its type.
  @inline(__always)
  private func untaggedMajor(_ position: inout CBORPosition) -> CBORMajorType {
    document.skipTags(&position)
    return CBORHead(initialByte: document.initialByte(position), argument: 0).major
  }
}

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
    case .stringArray: return try cast(array(of: String.self, at: position), to: type)
    case .boolArray: return try cast(array(of: Bool.self, at: position), to: type)
    case .doubleArray: return try cast(array(of: Double.self, at: position), to: type)
    case .floatArray: return try cast(array(of: Float.self, at: position), to: type)
    case .intArray: return try cast(array(of: Int.self, at: position), to: type)
    case .int32Array: return try cast(array(of: Int32.self, at: position), to: type)
    case .int64Array: return try cast(array(of: Int64.self, at: position), to: type)
    case .uint8Array: return try cast(array(of: UInt8.self, at: position), to: type)
    case .uint32Array: return try cast(array(of: UInt32.self, at: position), to: type)
    case .uint64Array: return try cast(array(of: UInt64.self, at: position), to: type)
    }
  }

  @inline(__always)
  private func cast<Source, Target>(_ value: Source?, to type: Target.Type) throws(CBORValueError) -> Target {
    guard let value else { throw .otherForm }
    return CBORLeaf.cast(value, to: type)
  }

  /// Returns `nil` if it is not an array of valid elements: the type's own decoding then finds the failure and its
  /// path.
  @inline(__always)
  private func array<S: CBORScalar>(of type: S.Type, at position: CBORPosition) -> [S]? {
    var position = position
    guard untaggedMajor(&position) == .array else { return nil }
    let count = enter(&position)
    var elements: [S] = []
    // The scan has verified the count.
    elements.reserveCapacity(count)
    for _ in 0..<count {
      do throws(CBORValueError) { elements.append(try type.readItem(at: position, self)) } catch { return nil }
      skip(&position)
    }
    return elements
  }
}

// Foundation's types with CBOR forms. Each function returns `nil` for an item of another form, which is left to the
// type's conformance.

extension CBORDecodingSession {
  /// The position inside the first of these tags, and the tag; `nil` without one.
  private func content(
    of tags: UInt64..., at position: CBORPosition
  ) -> (tag: UInt64, position: CBORPosition)? {
    var position = position
    while document.initialByte(position) >> 5 == CBORMajorType.tag.rawValue {
      let tag = document.readHead(&position).argument
      if tags.contains(tag) { return (tag, position) }
    }
    return nil
  }

  func data(at position: CBORPosition) throws(CBORValueError) -> Data? {
    var position = position
    document.skipTags(&position)
    let head = document.readHead(&position)
    switch head.major {
    case .bytes: return unsafe Data(document.readContent(head, &position).pointer)
    // `Data`'s own encoding is an array of numbers.
    case .array: return nil
    default: throw head.mismatch
    }
  }

  func uuid(at position: CBORPosition) throws(CBORValueError) -> UUID? {
    var position = position
    document.skipTags(&position)
    let head = document.readHead(&position)
    guard head.major == .bytes else { return nil }
    let bytes = document.readContent(head, &position)
    guard bytes.count == 16 else { throw .corrupted("A UUID has 16 bytes, and not \(bytes.count).") }
    return unsafe UUID(uuid: bytes.pointer.loadUnaligned(as: uuid_t.self))
  }

  func url(at position: CBORPosition) throws(CBORValueError) -> URL? {
    let head = untaggedHead(position)
    // `URL`'s own encoding is a map.
    if head.major == .map { return nil }
    guard head.major == .text else {
      throw head.isNil ? .null : .mismatch(head.typeDescription, expected: String.self)
    }
    let text = try string(at: position)
    guard let url = URL(string: text) else { throw .corrupted("Invalid URL string.") }
    return url
  }

  // MARK: Date

  func date(at position: CBORPosition) throws(CBORValueError) -> Date? {
    let tags = (text: CBORTag.dateTime, number: CBORTag.epochTime, map: CBORTag.extendedTime)
    guard let (tag, content) = content(of: tags.text, tags.number, tags.map, at: position) else { return nil }
    return switch tag {
    case tags.text: try dateTime(at: content)
    case tags.map: try extendedTime(at: content)
    default: try epochTime(at: content)
    }
  }

  private func dateTime(at position: CBORPosition) throws(CBORValueError) -> Date {
    var position = position
    guard untaggedMajor(&position) == .text else {
      throw .corrupted("A date (tag 0) is not text, but \(document.readHead(&position).typeDescription).")
    }
    let text = try readString(&position)
    guard let date = RFC3339Date.date(of: text) else {
      throw .corrupted("A date (tag 0) is not in the form of RFC 3339: \(text.quoted).")
    }
    return date
  }

  private func epochTime(at position: CBORPosition) throws(CBORValueError) -> Date {
    let head = untaggedHead(position)
    if let epoch = head.double { return Date(timeIntervalSinceReferenceDate: epoch - CBORDateForm.epochOffset) }
    switch head.major {
    case .unsigned, .negative:
      let seconds = try integer(Int128.self, at: position)
      return Date(timeIntervalSinceReferenceDate: Double(seconds - Int128(CBORDateForm.epochOffset)))
    default: throw .corrupted("A time (tag 1) is not a number, but \(head.typeDescription).")
    }
  }

  /// Reads a base time, bigfloat or decimal fraction. Finer elements are unsupported.
  private func extendedTime(at position: CBORPosition) throws(CBORValueError) -> Date {
    let unsupported = CBORValueError.corrupted(
      "An extended time (tag 1001) is of a form other than {1: seconds}, {4: [exponent, mantissa]} and {5: …}.")
    var position = position
    guard untaggedMajor(&position) == .map, enter(&position) == 1 else { throw unsupported }
    let key = document.readHead(&position)
    guard key.major == .unsigned else { throw unsupported }
    switch key.argument {
    case 1: return try epochTime(at: position)
    case 4:
      guard let seconds = try fraction(at: position) else { throw unsupported }
      let decimal = CBORDecimalForm.decimal(
        mantissa: seconds.magnitude, isNegative: seconds.isNegative, exponent: seconds.exponent)
      guard let decimal, let epoch = Double(decimal.description) else { throw unsupported }
      return Date(timeIntervalSinceReferenceDate: epoch - CBORDateForm.epochOffset)
    case 5:
      guard let seconds = try fraction(at: position), let magnitude = Int64(exactly: seconds.magnitude),
        let date = CBORDateForm.date(
          mantissa: seconds.isNegative ? -magnitude : magnitude, exponent: seconds.exponent)
      else { throw unsupported }
      return date
    default: throw unsupported
    }
  }

  // MARK: Decimal

  func decimal(at position: CBORPosition) throws(CBORValueError) -> Decimal? {
    if let (_, content) = content(of: CBORTag.decimalFraction, at: position) {
      guard let parts = try fraction(at: content) else {
        throw .corrupted("A decimal fraction (tag 4) is not an array of an exponent and a mantissa.")
      }
      let decimal = CBORDecimalForm.decimal(
        mantissa: parts.magnitude, isNegative: parts.isNegative, exponent: parts.exponent)
      guard let decimal else { throw .corrupted("A decimal fraction has more digits than Decimal.") }
      return decimal
    }
    let head = untaggedHead(position)
    if let value = head.double {
      // The shortest decimal number for this value, as JSON would write it.
      if value.isNaN { return Decimal.nan }
      guard let decimal = Decimal(string: value.description) else {
        throw .corrupted("The number \(value) does not fit in Decimal.")
      }
      return decimal
    }
    guard let (magnitude, isNegative) = try magnitude(at: position, Decimal.self) else { return nil }
    return CBORDecimalForm.decimal(mantissa: magnitude, isNegative: isNegative, exponent: 0)
  }

  /// Reads an array of exponent and mantissa. Returns `nil` for anything else, or out of range.
  private func fraction(
    at position: CBORPosition
  ) throws(CBORValueError) -> (exponent: Int, magnitude: UInt128, isNegative: Bool)? {
    var position = position
    guard untaggedMajor(&position) == .array, enter(&position) == 2 else { return nil }
    let exponent = try integer(Int.self, at: position)
    skip(&position)
    guard abs(Int128(exponent)) < 10_000, let (magnitude, isNegative) = try magnitude(at: position, Decimal.self)
    else { return nil }
    return (exponent, magnitude, isNegative)
  }
}
