/// A document that a scan has found well-formed, with definite lengths.
///
/// It is not checked again: all positions derive from ``CBORPosition/start`` by the functions here and stay within the
/// bytes.
struct CBORDocument {
  let bytes: UnsafeRawBufferPointer
  private let base: UnsafeRawPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
  }

  @inline(__always)
  func initialByte(_ position: CBORPosition) -> UInt8 {
    assert(position.offset < bytes.count)
    return base.load(fromByteOffset: Int(position.offset), as: UInt8.self)
  }

  /// Reads a head and moves to the string's bytes, the first nested item, or the next item.
  @inline(__always)
  func readHead(_ position: inout CBORPosition) -> CBORHead {
    let initialByte = initialByte(position)
    if initialByte & 0x1F < 24 {
      position.offset &+= 1
      return CBORHead(initialByte: initialByte, argument: UInt64(initialByte & 0x1F))
    }
    return readLongHead(&position, initialByte)
  }

  private func readLongHead(_ position: inout CBORPosition, _ initialByte: UInt8) -> CBORHead {
    let start = base + Int(position.offset) + 1
    let argument: UInt64
    switch initialByte & 0x1F {
    case 24:
      argument = UInt64(start.load(as: UInt8.self))
      position.offset &+= 2
    case 25:
      argument = UInt64(UInt16(bigEndian: start.loadUnaligned(as: UInt16.self)))
      position.offset &+= 3
    case 26:
      argument = UInt64(UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)))
      position.offset &+= 5
    default:
      argument = UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
      position.offset &+= 9
    }
    return CBORHead(initialByte: initialByte, argument: argument)
  }

  @inline(__always)
  func readContent(_ head: CBORHead, _ position: inout CBORPosition) -> UnsafeRawBufferPointer {
    let count = Int(truncatingIfNeeded: head.argument)
    let content = UnsafeRawBufferPointer(start: base + Int(position.offset), count: count)
    position.offset &+= UInt32(truncatingIfNeeded: count)
    return content
  }

  /// Moves past tags to the head of the tagged item.
  @inline(__always)
  func skipTags(_ position: inout CBORPosition) {
    while initialByte(position) >> 5 == CBORMajorType.tag.rawValue { _ = readHead(&position) }
  }

  /// Moves from an array's or map's head to its contents. Returns the number of elements or pairs.
  @inline(__always)
  func enter(_ position: inout CBORPosition, _ tape: borrowing CBORTape) -> Int {
    let count = tape[Int(position.tape)].count
    _ = readHead(&position)
    position.tape &+= 1
    return Int(count)
  }

  @inline(__always)
  func skip(_ position: inout CBORPosition, _ tape: borrowing CBORTape) {
    while true {
      let entry = position.tape
      let head = readHead(&position)
      switch head.initialByte >> 5 {
      case CBORMajorType.bytes.rawValue, CBORMajorType.text.rawValue:
        position.offset &+= UInt32(truncatingIfNeeded: head.argument)
      case CBORMajorType.array.rawValue, CBORMajorType.map.rawValue:
        position = CBORPosition(offset: tape[Int(entry)].end, tape: tape[Int(entry)].next)
      case CBORMajorType.tag.rawValue: continue
      default: break
      }
      return
    }
  }
}
