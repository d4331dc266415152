#if !canImport(Darwin)
  import Foundation

  extension CBORWriter {
    /// Always single precision, so that a reader gets a `Float`.
    @inline(__always)
    mutating func writeWhole(_ value: Float) { writeInitialByte(0xFA, value.bitPattern) }

    /// Always double precision, so that a reader gets a `Double`.
    @inline(__always)
    mutating func writeWhole(_ value: Double) { writeInitialByte(0xFB, value.bitPattern) }

    mutating func writeNumber(_ number: NSNumber) {
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"): writeWhole(number.doubleValue)
      case UInt8(ascii: "f"): writeWhole(number.floatValue)
      case UInt8(ascii: "Q"): writeInteger(number.uint64Value)
      default: writeInteger(number.int64Value)
      }
    }

    /// Writes seconds since 1970 under tag 1 if the conversion is lossless.
    mutating func writeDate(_ seconds: TimeInterval) {
      let epoch = seconds + Date.timeIntervalBetween1970AndReferenceDate
      if (epoch - Date.timeIntervalBetween1970AndReferenceDate).bitPattern == seconds.bitPattern {
        writeTag(CBORTag.epochTime)
        if let whole = Int64(exactly: epoch) { writeInteger(whole) } else { writeWhole(epoch) }
      } else {
        writeTag(CBORTag.object)
        writeArrayHead(count: 2)
        writeText("NSDate")
        writeWhole(seconds)
      }
    }

    mutating func writeUUID(_ uuid: UUID) {
      writeTag(CBORTag.uuid)
      withUnsafeBytes(of: uuid.uuid) { writeBytes($0) }
    }

    /// Writes a decimal fraction (tag 4) with the exact exponent and mantissa; NaN is an object around a NaN.
    mutating func writeDecimal(_ value: Decimal) {
      guard !value.isNaN, let magnitude = UInt128(value.significand.magnitude.description) else {
        writeTag(CBORTag.object)
        writeArrayHead(count: 2)
        writeText("NSDecimalNumber")
        return writeWhole(Double.nan)
      }
      writeTag(CBORTag.decimalFraction)
      writeArrayHead(count: 2)
      writeInteger(value.exponent)
      guard value.sign == .minus && magnitude != 0 else { return writeInteger(magnitude) }
      // -n is -1 - (n - 1), whose n - 1 may use all the bits.
      let argument = magnitude - 1
      if let short = UInt64(exactly: argument) { return writeHead(.negative, short) }
      writeTag(CBORTag.negativeBignum)
      let length = (UInt128.bitWidth - argument.leadingZeroBitCount + 7) / 8
      writeHead(.bytes, UInt64(length))
      for index in stride(from: length - 1, through: 0, by: -1) {
        writeByte(UInt8(truncatingIfNeeded: argument >> (8 * index)))
      }
    }
  }
#endif
