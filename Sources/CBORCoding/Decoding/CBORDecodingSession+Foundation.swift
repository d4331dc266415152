import Foundation

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
    case .bytes: return Data(document.readContent(head, &position))
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
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  func url(at position: CBORPosition) throws(CBORValueError) -> URL? {
    var position = position
    document.skipTags(&position)
    // `URL`'s own encoding is a map.
    if document.initialByte(position) >> 5 == CBORMajorType.map.rawValue { return nil }
    guard document.initialByte(position) >> 5 == CBORMajorType.text.rawValue else {
      let head = document.readHead(&position)
      throw head.isNil ? .null : .mismatch(head.typeDescription, expected: String.self)
    }
    let text = try readString(&position)
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
    document.skipTags(&position)
    guard document.initialByte(position) >> 5 == CBORMajorType.text.rawValue else {
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
    document.skipTags(&position)
    guard document.initialByte(position) >> 5 == CBORMajorType.map.rawValue, enter(&position) == 1
    else { throw unsupported }
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
    guard let (magnitude, isNegative) = try signedMagnitude(at: position) else { return nil }
    return CBORDecimalForm.decimal(mantissa: magnitude, isNegative: isNegative, exponent: 0)
  }

  /// Reads an array of exponent and mantissa. Returns `nil` for anything else, or out of range.
  private func fraction(
    at position: CBORPosition
  ) throws(CBORValueError) -> (exponent: Int, magnitude: UInt128, isNegative: Bool)? {
    var position = position
    document.skipTags(&position)
    guard document.initialByte(position) >> 5 == CBORMajorType.array.rawValue, enter(&position) == 2
    else { return nil }
    let exponent = try integer(Int.self, at: position)
    skip(&position)
    guard abs(Int128(exponent)) < 10_000, let (magnitude, isNegative) = try signedMagnitude(at: position)
    else { return nil }
    return (exponent, magnitude, isNegative)
  }

  /// Reads a signed integer of up to 128 bits. Returns `nil` for anything else.
  private func signedMagnitude(
    at position: CBORPosition
  ) throws(CBORValueError) -> (magnitude: UInt128, isNegative: Bool)? {
    if let (tag, content) = content(of: CBORTag.unsignedBignum, CBORTag.negativeBignum, at: position) {
      guard let (magnitude, isNegative) = try bignum(tag, content) else { return nil }
      guard isNegative else { return (magnitude, false) }
      let (sum, overflow) = magnitude.addingReportingOverflow(1)
      return overflow ? nil : (sum, true)
    }
    let head = untaggedHead(position)
    switch head.major {
    case .unsigned: return (UInt128(head.argument), false)
    case .negative: return (UInt128(head.argument) + 1, true)
    default: return nil
    }
  }
}
