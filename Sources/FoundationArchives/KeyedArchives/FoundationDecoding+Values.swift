#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationDecoding {
    static let values: [FoundationDecoding] = [
      make(NSString.self) { reader in reader.string(forKey: "NS.string").map { NSString(string: $0) } },
      make(NSMutableString.self) { reader in reader.string(forKey: "NS.string").map { NSMutableString(string: $0) } },
      make(NSData.self) { reader in reader.data(forKey: "NS.data").map { NSData(data: $0) } },
      make(NSMutableData.self) { reader in
        reader.data(forKey: "NS.data").map { data in
          data.withUnsafeBytes { NSMutableData(bytes: $0.baseAddress, length: $0.count) }
        }
      },
      make(NSNull.self) { _ in NSNull() },
      make(NSDate.self) { reader in
        guard reader.containsValue(forKey: "NS.time") else { return nil }
        return NSDate(timeIntervalSinceReferenceDate: reader.number(forKey: "NS.time"))
      },
      make(NSDateInterval.self) { reader in
        guard let start = reader.object(NSDate.self, forKey: "NS.startDate"),
          let end = reader.object(NSDate.self, forKey: "NS.endDate")
        else { return nil }
        let duration = end.timeIntervalSinceReferenceDate - start.timeIntervalSinceReferenceDate
        // NaN between infinite dates, which would end the process when bridged.
        guard duration >= 0 else { return nil }
        return NSDateInterval(
          start: Date(timeIntervalSinceReferenceDate: start.timeIntervalSinceReferenceDate), duration: duration)
      },
      make(NSUUID.self) { reader in
        guard let bytes = reader.data(forKey: "NS.uuidbytes"), bytes.count == 16 else { return nil }
        return [UInt8](bytes).withUnsafeBufferPointer { NSUUID(uuidBytes: $0.baseAddress!) }
      },
      make(NSURL.self) { reader in
        guard let relative = reader.string(forKey: "NS.relative") else { return nil }
        return NSURL.checked(relative, relativeTo: reader.object(NSURL.self, forKey: "NS.base"))
      },
      make(NSNumber.self) { reader in
        if reader.containsValue(forKey: "NS.boolval") {
          return NSNumber(value: reader.integer(forKey: "NS.boolval", UInt8.self, atMost: 1) == 1)
        }
        if reader.containsValue(forKey: "NS.intval") {
          return NSNumber(value: reader.integer(forKey: "NS.intval", Int.self))
        }
        guard reader.containsValue(forKey: "NS.dblval") else { return nil }
        return NSNumber(value: reader.number(forKey: "NS.dblval"))
      },
      make(NSDecimalNumber.self) { reader in decimal(reader).map { NSDecimalNumber(decimal: $0) } },
      make(NSValue.self) { reader in value(reader) },
      make(NSIndexSet.self) { reader throws(KeyedArchiveError) in
        try indexes(reader).map { NSIndexSet(indexSet: $0) }
      },
      make(NSMutableIndexSet.self) { reader throws(KeyedArchiveError) in
        try indexes(reader).map { NSMutableIndexSet(indexSet: $0) }
      },
      make(NSIndexPath.self) { reader throws(KeyedArchiveError) in
        let length = reader.integer(forKey: "NSIndexPathLength", Int.self)
        if length == 1, reader.containsValue(forKey: "NSIndexPathValue") {
          return NSIndexPath(index: reader.integer(forKey: "NSIndexPathValue", Int.self))
        }
        let indexes = try reader.data(forKey: "NSIndexPathData").map { data throws(KeyedArchiveError) in
          try KeyedArchiveReader.packedIntegers(data)
        }
        guard (indexes ?? []).count == length else { return nil }
        return NSIndexPath(indexes: indexes ?? [], length: length)
      },
      make(NSAffineTransform.self) { reader in
        var numbers: [Float] = Array(repeating: 0, count: 6)
        reader.decodeValue(ofObjCType: "[6f]", at: &numbers)
        let matrix = numbers.map { CGFloat($0) }
        let transform = NSAffineTransform()
        transform.transformStruct = NSAffineTransformStruct(
          m11: matrix[0], m12: matrix[1], m21: matrix[2], m22: matrix[3], tX: matrix[4], tY: matrix[5])
        return transform
      },
    ]

    /// Reads a mantissa of up to eight 16-bit parts, lowest first.
    private static func decimal(_ reader: KeyedArchiveReader) -> Decimal? {
      let length = reader.integer(forKey: "NS.length", Int.self)
      let exponent = reader.integer(forKey: "NS.exponent", Int.self)
      let isNegative = reader.decodeBool(forKey: "NS.negative")
      let isLittleEndian = reader.integer(forKey: "NS.mantissa.bo", Int.self) != 2
      guard let mantissa = reader.data(forKey: "NS.mantissa").map({ [UInt8]($0) }), (0...8).contains(length),
        mantissa.count >= 2 * length
      else { return nil }
      if length == 0 { return isNegative ? Decimal.nan : Decimal(0) }
      var magnitude: UInt128 = 0
      for index in (0..<length).reversed() {
        let (low, high) = isLittleEndian ? (2 * index, 2 * index + 1) : (2 * index + 1, 2 * index)
        magnitude = magnitude << 16 | UInt128(mantissa[high]) << 8 | UInt128(mantissa[low])
      }
      return Decimal(mantissa: magnitude, isNegative: isNegative, exponent: exponent)
    }

    private static func value(_ reader: KeyedArchiveReader) -> NSValue? {
      switch reader.integer(forKey: "NS.special", Int.self) {
      case 1:
        return numbers(reader, "NS.pointval", 2).map { NSValue(point: NSPoint(x: $0[0], y: $0[1])) }
      case 2:
        return numbers(reader, "NS.sizeval", 2).map { NSValue(size: NSSize(width: $0[0], height: $0[1])) }
      case 3:
        return numbers(reader, "NS.rectval", 4).map {
          NSValue(rect: NSRect(x: $0[0], y: $0[1], width: $0[2], height: $0[3]))
        }
      case 4:
        let location = reader.integer(forKey: "NS.rangeval.location", Int.self)
        let length = reader.integer(forKey: "NS.rangeval.length", Int.self)
        return NSValue(range: NSRange(location: location, length: length))
      case 12:
        return NSValue(
          edgeInsets: NSEdgeInsets(
            top: reader.number(forKey: "NS.edgeval.top"), left: reader.number(forKey: "NS.edgeval.left"),
            bottom: reader.number(forKey: "NS.edgeval.bottom"), right: reader.number(forKey: "NS.edgeval.right")))
      default:
        guard let type = (reader.decodeObject() as? NSString).map({ $0 as String }),
          let numbers = reader.numbers(in: type)
        else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: numbers.size * numbers.count, alignment: 8) { buffer in
          guard let address = buffer.baseAddress else { return nil }
          buffer.initializeMemory(as: UInt8.self, repeating: 0)
          reader.decodeValue(ofObjCType: type, at: address)
          return reader.isReading ? NSValue(bytes: address, objCType: type) : nil
        }
      }
    }

    /// Reads the numbers of a structure such as "{{1, 2}, {3, 4}}".
    private static func numbers(_ reader: KeyedArchiveReader, _ key: String, _ count: Int) -> [Double]? {
      guard let text = reader.string(forKey: key), text.utf8.count <= 256 else { return nil }
      let numbers = text.split { "{}, ".contains($0) }.compactMap { Double($0) }
      return numbers.count == count ? numbers : nil
    }

    private static func indexes(_ reader: KeyedArchiveReader) throws(KeyedArchiveError) -> IndexSet? {
      var numbers: [Int] = []
      switch reader.integer(forKey: "NSRangeCount", Int.self) {
      case 0: break
      case 1 where reader.containsValue(forKey: "NSLocation"):
        numbers = [reader.integer(forKey: "NSLocation", Int.self), reader.integer(forKey: "NSLength", Int.self)]
      case let count:
        guard let data = reader.data(forKey: "NSRangeData"), count > 0,
          case let packed = try KeyedArchiveReader.packedIntegers(data), packed.count / 2 == count
        else { return nil }
        numbers = packed
      }
      return IndexSet(checking: numbers)
    }
  }
#endif
