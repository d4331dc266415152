#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationCoding {
    static let values: [FoundationCoding] = [
      make(NSValue.self) { value, coder in
        encode(value, coder)
      } decode: { coder in
        decodeValue(coder)
      },
      make(NSIndexSet.self) { set, coder in
        encode(set, coder)
      } decode: { coder in
        decodeIndexes(coder).map { NSIndexSet(indexSet: $0) }
      },
      make(NSMutableIndexSet.self) { set, coder in
        encode(set, coder)
      } decode: { coder in
        decodeIndexes(coder).map { NSMutableIndexSet(indexSet: $0) }
      },
      make(NSIndexPath.self) { path, coder in
        coder.encode((0..<path.length).map { path.index(atPosition: $0) }, forKey: "indexes")
      } decode: { coder in
        coder.integers(forKey: "indexes").map { NSIndexPath(indexes: $0, length: $0.count) }
      },
      make(NSAffineTransform.self) { transform, coder in
        let matrix = transform.transformStruct
        let numbers = [matrix.m11, matrix.m12, matrix.m21, matrix.m22, matrix.tX, matrix.tY]
        for (key, number) in zip(transformKeys, numbers) { coder.encode(Double(number), forKey: key) }
      } decode: { coder in
        let numbers = transformKeys.map { CGFloat(coder.decodeDouble(forKey: $0)) }
        let transform = NSAffineTransform()
        transform.transformStruct = NSAffineTransformStruct(
          m11: numbers[0], m12: numbers[1], m21: numbers[2], m22: numbers[3], tX: numbers[4], tY: numbers[5])
        return transform
      },
    ]

    private static let transformKeys = ["m11", "m12", "m21", "m22", "tX", "tY"]

    // MARK: Values

    /// Structures that Foundation supports. Other types are limited to numbers and arrays of them, because Foundation
    /// cannot be trusted with their descriptions.
    private static let structures = [
      NSValue(range: NSRange()), NSValue(point: NSPoint()), NSValue(size: NSSize()), NSValue(rect: NSRect()),
      NSValue(edgeInsets: NSEdgeInsets()),
    ].map { String(cString: $0.objCType) }

    private static func type(_ name: String) -> ObjCType? {
      guard let type = ObjCType(name) else { return nil }
      switch type {
      case .structure: return structures.contains(name) ? type : nil
      case .array(let element, _): return element.isNumber ? type : nil
      default: return type.isNumber ? type : nil
      }
    }

    private static func encode(_ value: NSValue, _ coder: CBORKeyedArchiver) {
      let name = String(cString: value.objCType)
      guard let type = type(name) else {
        return coder.fail("A value of the Objective-C type \(name) cannot be archived.")
      }
      coder.encode(name as String?, forKey: "type")
      guard coder.beginField("value") else { return }
      withUnsafeTemporaryAllocation(byteCount: max(type.size, 1), alignment: type.alignment) { buffer in
        value.getValue(buffer.baseAddress!)
        coder.write(type, at: buffer.baseAddress!)
      }
    }

    private static func decodeValue(_ coder: CBORKeyedUnarchiver) -> NSObject? {
      // The archive decides the buffer's size, so require a value at least as long.
      guard let name = coder.string(forKey: "type"), let type = type(name), let value = coder.locate("value"),
        type.partCount <= coder.bytes.count
      else { return nil }
      return withUnsafeTemporaryAllocation(byteCount: max(type.size, 1), alignment: type.alignment) { buffer in
        guard coder.read(type, at: value, to: buffer.baseAddress!) else { return nil }
        let bytes = UnsafeRawPointer(buffer.baseAddress!)
        switch name {
        case structures[0]: return NSValue(range: bytes.load(as: NSRange.self))
        case structures[1]: return NSValue(point: bytes.load(as: NSPoint.self))
        case structures[2]: return NSValue(size: bytes.load(as: NSSize.self))
        case structures[3]: return NSValue(rect: bytes.load(as: NSRect.self))
        case structures[4]: return NSValue(edgeInsets: bytes.load(as: NSEdgeInsets.self))
        default: return NSValue(bytes: bytes, objCType: name)
        }
      }
    }

    // MARK: Index sets

    /// Writes each range's start and length, in ascending order.
    private static func encode(_ set: NSIndexSet, _ coder: CBORKeyedArchiver) {
      var numbers: [Int] = []
      set.enumerateRanges { range, _ in numbers += [range.location, range.length] }
      coder.encode(numbers, forKey: "ranges")
    }

    private static func decodeIndexes(_ coder: CBORKeyedUnarchiver) -> IndexSet? {
      coder.integers(forKey: "ranges").flatMap { IndexSet(checking: $0) }
    }
  }

  extension ObjCType {
    fileprivate var isNumber: Bool {
      switch self {
      case .cString, .object, .anyClass, .array, .structure: false
      default: true
      }
    }
  }

  extension CBORKeyedUnarchiver {
    /// Reads the value at an offset into memory. Returns `false` for another type.
    fileprivate func read(_ type: ObjCType, at offset: Int, to address: UnsafeMutableRawPointer) -> Bool {
      var reader = CBORReader(bytes, at: offset)
      do {
        try read(type, &reader, to: address)
        return true
      } catch {
        failWithError(error)
        return false
      }
    }
  }
#endif
