#if !canImport(Darwin)
  import Foundation

  /// A type in Objective-C's `@encode` form, if its values can be coded.
  ///
  /// On Linux `@` is an `Any?`, and `l` and `L` have 32 bits, as in Foundation.
  indirect enum ObjCType: Sendable {
    case int8, uint8, int16, uint16, int32, uint32, int64, uint64, float, double, bool
    case cString, object, anyClass
    case array(ObjCType, Int)
    case structure([ObjCType])

    /// Returns `nil` for several types, or one whose values cannot be coded.
    init?(_ encoding: UnsafePointer<CChar>) {
      var rest = Substring(String(cString: encoding)).utf8
      guard let type = Self.parse(&rest, depth: 0), rest.isEmpty else { return nil }
      self = type
    }

    /// The largest accepted size in bytes. Archives may claim any size; two of these cannot overflow.
    private static let greatestSize = 1 << 28

    private static func parse(_ text: inout Substring.UTF8View, depth: Int) -> ObjCType? {
      guard depth < 8, let first = text.popFirst() else { return nil }
      switch first {
      case UInt8(ascii: "r"): return parse(&text, depth: depth + 1)
      case UInt8(ascii: "["):
        let digits = text.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        text = text.dropFirst(digits.count)
        guard let count = Int(String(Substring(digits))), count <= greatestSize,
          let element = parse(&text, depth: depth + 1), text.popFirst() == UInt8(ascii: "]"),
          element.stride * count <= greatestSize
        else { return nil }
        return .array(element, count)
      case UInt8(ascii: "{"):
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        text = text[text.index(after: equals)...]
        var members: [ObjCType] = []
        while let next = text.first, next != UInt8(ascii: "}") {
          guard let member = parse(&text, depth: depth + 1) else { return nil }
          members.append(member)
        }
        guard text.popFirst() == UInt8(ascii: "}"), !members.isEmpty else { return nil }
        let structure = ObjCType.structure(members)
        return structure.size <= greatestSize ? structure : nil
      default: return scalars[first]
      }
    }

    private static let scalars: [UInt8: ObjCType] = [
      UInt8(ascii: "c"): .int8, UInt8(ascii: "C"): .uint8, UInt8(ascii: "s"): .int16, UInt8(ascii: "S"): .uint16,
      UInt8(ascii: "i"): .int32, UInt8(ascii: "I"): .uint32, UInt8(ascii: "l"): .int32, UInt8(ascii: "L"): .uint32,
      UInt8(ascii: "q"): .int64, UInt8(ascii: "Q"): .uint64, UInt8(ascii: "f"): .float, UInt8(ascii: "d"): .double,
      UInt8(ascii: "B"): .bool, UInt8(ascii: "*"): .cString, UInt8(ascii: "@"): .object, UInt8(ascii: "#"): .anyClass,
    ]

    var size: Int { layout.size }
    var alignment: Int { layout.alignment }
    var stride: Int { Self.align(size, to: alignment) }

    private var layout: (size: Int, alignment: Int) {
      func of<T>(_ type: T.Type) -> (Int, Int) { (MemoryLayout<T>.size, MemoryLayout<T>.alignment) }
      switch self {
      case .int8, .uint8, .bool: return of(UInt8.self)
      case .int16, .uint16: return of(UInt16.self)
      case .int32, .uint32, .float: return of(UInt32.self)
      case .int64, .uint64, .double: return of(UInt64.self)
      case .cString: return of(UnsafePointer<CChar>?.self)
      case .object: return of(Any?.self)
      case .anyClass: return of(AnyClass?.self)
      case .array(let element, let count): return (element.stride * count, element.alignment)
      case .structure(let members):
        let alignment = members.map(\.alignment).max() ?? 1
        let end = members.reduce(0) { Self.align($0, to: $1.alignment) + $1.size }
        return (Self.align(end, to: alignment), alignment)
      }
    }

    func forEachPart(_ body: (ObjCType, Int) -> Void) {
      switch self {
      case .array(let element, let count):
        for index in 0..<count { body(element, index * element.stride) }
      case .structure(let members):
        var offset = 0
        for member in members {
          offset = Self.align(offset, to: member.alignment)
          body(member, offset)
          offset += member.size
        }
      default: break
      }
    }

    var partCount: Int {
      switch self {
      case .array(_, let count): count
      case .structure(let members): members.count
      default: 0
      }
    }

    private static func align(_ offset: Int, to alignment: Int) -> Int {
      (offset + alignment - 1) / alignment * alignment
    }
  }

  extension CBORKeyedArchiver {
    func write(_ type: ObjCType, at address: UnsafeRawPointer) {
      switch type {
      case .int8: writer.writeInteger(address.load(as: Int8.self))
      case .uint8: writer.writeInteger(address.load(as: UInt8.self))
      case .int16: writer.writeInteger(address.load(as: Int16.self))
      case .uint16: writer.writeInteger(address.load(as: UInt16.self))
      case .int32: writer.writeInteger(address.load(as: Int32.self))
      case .uint32: writer.writeInteger(address.load(as: UInt32.self))
      case .int64: writer.writeInteger(address.load(as: Int64.self))
      case .uint64: writer.writeInteger(address.load(as: UInt64.self))
      case .float: writer.writeWhole(address.load(as: Float.self))
      case .double: writer.writeWhole(address.load(as: Double.self))
      case .bool: writer.writeBool(address.load(as: Bool.self))
      case .cString:
        guard let text = address.load(as: UnsafePointer<CChar>?.self) else { return writer.writeUndefined() }
        guard let string = String(validatingCString: text) else { return fail("A C string is not UTF-8.") }
        writer.writeText(string)
      case .object: write(address.load(as: Any?.self))
      case .anyClass:
        guard let type = address.load(as: AnyClass?.self) else { return writer.writeUndefined() }
        let record = ClassTable.record(of: type)
        guard !record.pointee.encodedName.isEmpty else {
          return fail("The class \(ClassDescription.name(of: record)) has no name that it could be found by.")
        }
        writer.append(record.pointee.encodedName)
      case .array, .structure:
        writer.writeArrayHead(count: type.partCount)
        type.forEachPart { part, offset in if failure == nil { write(part, at: address + offset) } }
      }
    }
  }
#endif
